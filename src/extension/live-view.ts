/**
 * `report --serve`: one task's report as a page that follows it, for a browser on this machine. Read-only: two paths, GET
 * and HEAD, no input of any kind.
 *
 * Who may read it: it listens on 127.0.0.1 alone, on a port that the system picks; its path holds 256 random bits, compared in
 * constant time; a request that names another host (DNS rebinding) or comes from another site is refused before the path is
 * looked at; nothing is shared across origins, and the page's policy lets it load nothing but itself. Other accounts of this
 * machine can reach the port, not guess the path.
 *
 * Memory: one page (at most five million characters) at a time, and up to 16 connections.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Result } from "../core/result.ts";
import { failure } from "../core/result.ts";

export { LIVE } from "./live-script.ts";

export interface LiveView {
  readonly taskId: string;
  /** `http://127.0.0.1:PORT/<token>/` */
  readonly url: string;
  /** Ends every connection at once. */
  stop(): void;
}

export interface LiveSource {
  taskId: string;
  /** The page as of now. */
  page(): Promise<Result<{ html: string }>>;
  /** Calls `onChange` for each new record until `signal`; resolves or rejects when nothing more comes. */
  follow(onChange: () => void, signal: AbortSignal): Promise<unknown>;
}

const MAX_CONNECTIONS = 16;
/** Changes that come together are told as one (ms). */
const GATHER_MS = 400;
/** A comment now and then, so that a browser that is gone is noticed (ms). */
const BEAT_MS = 20_000;

const HEADERS = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Content-Security-Policy": "frame-ancestors 'none'",
} as const;

/** Failures: `no-port` (the system gave none). The server keeps no process alive. */
export async function openLiveView(source: LiveSource): Promise<Result<{ view: LiveView }>> {
  const token = randomBytes(32).toString("base64url");
  const ended = new AbortController();
  const listeners = new Set<ServerResponse>();
  let port = 0;
  let making: Promise<Result<{ html: string }>> | undefined;

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const refused = refusalOf(request, port);
    if (refused !== undefined) {
      plain(response, refused.status, refused.text, refused.headers);
      return;
    }
    const [, given = "", ...rest] = (request.url ?? "").split("/");
    const what = isToken(given, token) && rest.length === 1 ? rest[0] : undefined;
    if (what === "") void show(request, response);
    else if (what === "events") listen(request, response);
    else plain(response, 404, "There is nothing here.");
  };
  const show = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    /* Who asks while a page is being made gets that one. */
    making ??= source.page().finally(() => {
      making = undefined;
    });
    const made = await making.catch((error: unknown) => failure("page-failed", String(error)));
    if (!made.ok) {
      plain(response, 503, made.message);
      return;
    }
    const bytes = Buffer.from(made.html);
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/html; charset=utf-8", "Content-Length": bytes.length });
    response.end(request.method === "HEAD" ? undefined : bytes);
  };
  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { ...HEADERS, "Content-Type": "text/event-stream; charset=utf-8" });
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    response.write(": it begins\n\n");
    listeners.add(response);
    response.once("close", () => listeners.delete(response));
  };
  const tell = (text: string): void => {
    /* A reader who does not read is let go, instead of kept in memory. */
    for (const one of listeners) if (!one.write(text)) one.destroy();
  };

  const server = createServer({ maxHeaderSize: 8_192, keepAliveTimeout: 5_000, headersTimeout: 5_000 }, answer);
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", (_error, socket) => socket.destroy());
  const listening = await new Promise<Result>((resolve) => {
    server.once("error", (error) => resolve(failure("no-port", `No port could be opened: ${error.message}.`)));
    server.listen({ host: "127.0.0.1", port: 0, exclusive: true }, () => resolve({ ok: true }));
  });
  if (!listening.ok) return listening;
  server.on("error", () => stop());
  server.unref();
  ({ port } = server.address() as AddressInfo);

  let gathering: NodeJS.Timeout | undefined;
  const changed = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      tell("data: changed\n\n");
    }, GATHER_MS).unref();
  };
  const beat = setInterval(() => tell(": still here\n\n"), BEAT_MS).unref();
  const stop = (): void => {
    ended.abort();
    clearTimeout(gathering);
    clearInterval(beat);
    server.close();
    server.closeAllConnections();
  };
  /* When nothing more comes the page stays readable; whoever follows is told once more. */
  source.follow(changed, ended.signal).then(changed, changed);
  return { ok: true, view: { taskId: source.taskId, url: `http://127.0.0.1:${port}/${token}/`, stop } };
}

interface Refusal {
  status: number;
  text: string;
  headers?: Record<string, string>;
}

function refusalOf({ method, headers }: IncomingMessage, port: number): Refusal | undefined {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (!hosts.includes(headers.host ?? "")) return { status: 421, text: "This view is for 127.0.0.1 only." };
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  const foreign = origin !== undefined && !hosts.includes(origin.replace(/^http:\/\//, ""));
  if (foreign || (site !== undefined && site !== "same-origin" && site !== "none"))
    return { status: 403, text: "This view is shared with no other site." };
  if (method !== "GET" && method !== "HEAD")
    return { status: 405, text: "This view can only be read.", headers: { Allow: "GET, HEAD" } };
  return undefined;
}

/** Hashes of equal length are compared, so that neither length nor beginning of a guess shows in the time. */
function isToken(given: string, token: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

function plain(response: ServerResponse, status: number, text: string, more: Record<string, string> = {}): void {
  const head = { ...HEADERS, ...more, "Content-Type": "text/plain; charset=utf-8" };
  response.writeHead(status, { ...head, Connection: "close" });
  response.end(`${text}\n`);
}
