/**
 * A scripted model on 127.0.0.1 that speaks Anthropic's `POST /v1/messages` (streamed and whole), so that the real Claude
 * Code and the real Pi run without network, account or cost. It records every request for assertions.
 *
 *     const server = await startModelServer();
 *     server.script("main", [bash("ls"), text("Done.")]);
 *     server.script("decider", (request) => toolUse("decide", { decision: "approve", reason: "harmless" }));
 *     …
 *     assert.equal(server.of("main").length, 2);
 *     await server.close();
 *
 * A list of replies is used up one a request; retries count. When it is used up, or a kind has no script, the model says
 * one harmless sentence and the request is listed in `unscripted`. A decider without a script has each turn's end verified
 * and leaves everything else to a person; it is not listed, and neither are side requests.
 *
 * Memory: each request is kept with its conversation, without Claude's tool schemas, about 20 KB and up.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type MessageReply, type Reply, text, toolUse } from "./model-reply.ts";
import { ModelRequest, type RequestKind } from "./model-request.ts";
import { messageJson, serverSentEvents } from "./model-wire.ts";
import { within } from "./until.ts";

export type Script = readonly Reply[] | ((request: ModelRequest) => Reply | Promise<Reply>);

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, for ANTHROPIC_BASE_URL and models.json. */
  readonly url: string;
  /** Every request, oldest first. */
  readonly requests: readonly ModelRequest[];
  /** Requests that no script answered. Claude's side requests and the decider's are never listed. */
  readonly unscripted: readonly ModelRequest[];
  /** What a script function threw. A test that uses one asserts that this is empty; `close()` throws it otherwise. */
  readonly scriptErrors: readonly unknown[];
  /**
   * Sets the script of a kind, in place of the one before. With `when`, only for requests that it accepts (for instance
   * one Claude session of several): those scripts are looked through first, newest first.
   */
  script(kind: RequestKind, script: Script, when?: (request: ModelRequest) => boolean): void;
  /** Adds replies to the list script of a kind. */
  enqueue(kind: RequestKind, ...replies: Reply[]): void;
  of(kind: RequestKind): ModelRequest[];
  /** The first request, past or future, that `matches`. Rejects after `deadlineMs`. */
  waitForRequest(matches: (request: ModelRequest) => boolean, deadlineMs: number, what?: string): Promise<ModelRequest>;
  /** Ends all connections, the held ones too. */
  close(): Promise<void>;
}

interface Route {
  kind: RequestKind;
  when?: (request: ModelRequest) => boolean;
  next: (request: ModelRequest) => Promise<Reply | undefined>;
  queue?: Reply[];
}

export async function startModelServer(): Promise<ModelServer> {
  const started = performance.now();
  const requests: ModelRequest[] = [];
  const unscripted: ModelRequest[] = [];
  const scriptErrors: unknown[] = [];
  const routes: Route[] = [];
  const listeners = new Set<(request: ModelRequest) => void>();
  const ids = { message: 0, toolUse: 0 };

  async function replyTo(request: ModelRequest): Promise<Reply> {
    const mine = routes.filter((route) => route.kind === request.kind);
    const special = mine.filter((route) => route.when !== undefined).reverse();
    const route = special.find((candidate) => candidate.when?.(request)) ?? mine.find((candidate) => !candidate.when);
    const reply = await route?.next(request);
    if (reply) return reply;
    if (request.kind === "side") return text("Scripted side answer");
    if (request.kind === "decider") return leavesItToOthers(request);
    unscripted.push(request);
    return text("Nothing is scripted for this request.");
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBody(incoming);
    const path = (incoming.url ?? "").split("?")[0];
    if (incoming.method === "POST" && path === "/v1/messages/count_tokens")
      return json(response, 200, { input_tokens: 1 });
    if (incoming.method === "HEAD" && path === "/api/hello") return json(response, 200, {});
    if (incoming.method !== "POST" || path !== "/v1/messages") {
      return json(response, 404, { type: "error", error: { type: "not_found_error", message: "not scripted" } });
    }
    const request = new ModelRequest(requests.length, performance.now() - started, incoming.headers, JSON.parse(raw));
    requests.push(request);
    response.on("close", () => {
      request.state = response.writableFinished ? "answered" : "left";
    });
    for (const listener of listeners) listener(request);
    let reply: Reply;
    try {
      reply = await replyTo(request);
    } catch (error) {
      scriptErrors.push(error);
      return json(response, 400, { type: "error", error: { type: "invalid_request_error", message: "script threw" } });
    }
    await deliver(reply, request, response);
  }

  async function deliver(reply: Reply, request: ModelRequest, response: ServerResponse): Promise<void> {
    switch (reply.kind) {
      case "held": {
        const left = new Promise<"left">((resolve) => response.once("close", () => resolve("left")));
        const outcome = await Promise.race([reply.until.then(() => "go" as const), left]);
        if (outcome === "go") await deliver(reply.reply, request, response);
        return;
      }
      case "reset":
        response.socket?.resetAndDestroy();
        return;
      case "error":
        return json(
          response,
          reply.status,
          { type: "error", error: { type: reply.errorType, message: reply.message } },
          reply.headers,
        );
      case "cut":
        return stream(reply.message, request, response, reply.events);
      case "message":
        if (request.body.stream) return stream(reply, request, response);
        return json(response, 200, messageJson(reply, request.body.model, ids), reply.headers);
    }
  }

  function stream(reply: MessageReply, request: ModelRequest, response: ServerResponse, events = Infinity): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...reply.headers });
    const all = serverSentEvents(reply, request.body.model, ids);
    if (events >= all.length) {
      response.end(all.join(""));
      return;
    }
    // The reset has to come after the bytes have left, or the client sees no stream at all.
    response.write(all.slice(0, events).join(""), () => response.socket?.resetAndDestroy());
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      scriptErrors.push(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  const api: ModelServer = {
    url: `http://127.0.0.1:${port}`,
    requests,
    unscripted,
    scriptErrors,
    script(kind, script, when) {
      if (!when) {
        const old = routes.findIndex((route) => route.kind === kind && route.when === undefined);
        if (old >= 0) routes.splice(old, 1);
      }
      const route: Route = { kind, ...(when ? { when } : {}), next: async () => undefined };
      if (typeof script === "function") {
        route.next = async (request) => script(request);
      } else {
        const queue = [...script];
        route.queue = queue;
        route.next = async () => queue.shift();
      }
      routes.push(route);
    },
    enqueue(kind, ...replies) {
      const route = routes.find((candidate) => candidate.kind === kind && !candidate.when);
      if (!route) return api.script(kind, replies);
      if (!route.queue) throw new Error(`The script of "${kind}" is a function: nothing can be enqueued.`);
      route.queue.push(...replies);
    },
    of: (kind) => requests.filter((request) => request.kind === kind),
    async waitForRequest(matches, deadlineMs, what = "a matching model request") {
      const past = requests.find(matches);
      if (past) return past;
      let listener: ((request: ModelRequest) => void) | undefined;
      const future = new Promise<ModelRequest>((resolve) => {
        listener = (request) => {
          if (matches(request)) resolve(request);
        };
        listeners.add(listener);
      });
      try {
        return await within(
          future,
          deadlineMs,
          () => `${what}; seen: ${requests.map((r) => r.kind).join(" ") || "none"}`,
        );
      } finally {
        if (listener) listeners.delete(listener);
      }
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      if (scriptErrors.length > 0) throw new AggregateError(scriptErrors, "The scripted model failed.");
    },
  };
  return api;
}

/** A decider that no script speaks for: each turn's end is verified, everything else is a person's. */
function leavesItToOthers(request: ModelRequest): Reply {
  const isTurnsEnd = request.lastUserText().startsWith("kind: turn-end\n");
  return toolUse("decide", { decision: isTurnsEnd ? "verify" : "escalate", reason: "Scripted default." });
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
