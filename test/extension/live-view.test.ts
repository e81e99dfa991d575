/** `report --serve` over HTTP: who may read the live view, what it says to everyone else, and that it ends. */
import assert from "node:assert/strict";
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { failure } from "../../src/core/result.ts";
import { type LiveSource, type LiveView, openLiveView } from "../../src/extension/live-view.ts";
import { gate, until, within } from "../support/until.ts";

interface Served {
  view: LiveView;
  /** A record came. */
  change(): void;
  pages(): number;
}

async function served(t: Pick<TestContext, "after">, page?: LiveSource["page"]): Promise<Served> {
  let change: () => void = () => undefined;
  let pages = 0;
  const opened = await openLiveView({
    taskId: "t-1",
    page: () => {
      pages += 1;
      return page?.() ?? Promise.resolve({ ok: true, html: `<p>page ${pages}</p>` });
    },
    follow: (onChange, signal) => {
      change = onChange;
      return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
  });
  assert.ok(opened.ok, JSON.stringify(opened));
  t.after(() => opened.view.stop());
  return { view: opened.view, change: () => change(), pages: () => pages };
}

function ask(
  url: string,
  { method = "GET", path, headers }: { method?: string; path?: string; headers?: OutgoingHttpHeaders } = {},
): Promise<IncomingMessage> {
  const { port, pathname } = new URL(url);
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      path: path ?? pathname,
      method,
      agent: false,
      ...(headers && { headers }),
    };
    request(options, resolve).once("error", reject).end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}

function assertClosed({ headers }: { headers: IncomingHttpHeaders }): void {
  assert.deepEqual(
    Object.keys(headers).filter((name) => name.startsWith("access-control-")),
    [],
    "nothing is shared across origins",
  );
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.equal(headers["cross-origin-resource-policy"], "same-origin");
  assert.equal(headers["referrer-policy"], "no-referrer");
  assert.equal(headers["cache-control"], "no-store");
}

describe("a live view", () => {
  test("shows its page to who has the address, and its head to who asks for that", async (t) => {
    const { view } = await served(t);
    assert.match(view.url, /^http:\/\/127\.0\.0\.1:\d+\/[\w-]{43}\/$/);
    const shown = await ask(view.url);
    assert.deepEqual([shown.statusCode, shown.headers["content-type"]], [200, "text/html; charset=utf-8"]);
    assert.equal(await bodyOf(shown), "<p>page 1</p>");
    assertClosed(shown);
    const head = await ask(view.url, { method: "HEAD" });
    assert.deepEqual([head.statusCode, await bodyOf(head)], [200, ""]);
    const byName = await ask(view.url, { headers: { host: `localhost:${new URL(view.url).port}` } });
    assert.equal(byName.statusCode, 200);
  });

  const refused: [string, (url: URL) => Parameters<typeof ask>[1], number][] = [
    ["no token", () => ({ path: "/" }), 404],
    ["another token", () => ({ path: `/${"A".repeat(43)}/` }), 404],
    ["a token that begins right", ({ pathname }) => ({ path: `${pathname.slice(0, 30)}/` }), 404],
    ["a token with more behind it", ({ pathname }) => ({ path: `${pathname.slice(0, -1)}A/` }), 404],
    ["the token without its slash", ({ pathname }) => ({ path: pathname.slice(0, -1) }), 404],
    ["another path", ({ pathname }) => ({ path: `${pathname}../../etc/passwd` }), 404],
    ["a folder below", ({ pathname }) => ({ path: `${pathname}events/x` }), 404],
    ["the events without a token", () => ({ path: "/events" }), 404],
    ["a whole address for a path", (url) => ({ path: url.href }), 404],
    ["another host's name (DNS rebinding)", ({ port }) => ({ headers: { host: `evil.example:${port}` } }), 421],
    ["an address without its port", () => ({ headers: { host: "127.0.0.1" } }), 421],
    ["a name that ends like ours", ({ port }) => ({ headers: { host: `x.localhost:${port}` } }), 421],
    ["another origin", () => ({ headers: { origin: "http://evil.example" } }), 403],
    ["an origin of nothing", () => ({ headers: { origin: "null" } }), 403],
    ["another site's page", () => ({ headers: { "sec-fetch-site": "cross-site" } }), 403],
    ["another port's page", () => ({ headers: { "sec-fetch-site": "same-site" } }), 403],
    ["POST", () => ({ method: "POST" }), 405],
    ["PUT", () => ({ method: "PUT" }), 405],
    ["DELETE", () => ({ method: "DELETE" }), 405],
    ["a preflight", () => ({ method: "OPTIONS" }), 405],
  ];
  test("refuses everything else, and says nothing in it", async (t) => {
    const { view, pages } = await served(t);
    const url = new URL(view.url);
    for (const [what, make, status] of refused) {
      const response = await ask(view.url, make(url));
      assert.equal(response.statusCode, status, what);
      assertClosed(response);
      if (status === 405) assert.equal(response.headers.allow, "GET, HEAD");
      const said = await bodyOf(response);
      assert.ok(said.length < 60 && !said.includes(url.pathname), `${what}: ${said}`);
    }
    assert.equal(pages(), 0, "no page was made for any of them");
  });

  test("tells each listener of changes, several at once as one, and what a page costs is paid once", async (t) => {
    const release = gate();
    const { view, change, pages } = await served(t, async () => {
      await release.opened;
      return { ok: true, html: "x" };
    });
    const events = await ask(`${view.url}events`);
    assert.equal(events.headers["content-type"], "text/event-stream; charset=utf-8");
    assertClosed(events);
    let heard = "";
    events.setEncoding("utf8").on("data", (chunk: string) => {
      heard += chunk;
    });
    events.on("error", () => undefined);
    for (let count = 0; count < 50; count++) change();
    await until(() => heard.includes("data: changed\n\n"), 30_000, "the change");
    assert.equal(heard.split("data: changed").length, 2, "told once");
    const [one, other] = [ask(view.url), ask(view.url)];
    await until(() => pages() > 0, 30_000, "a page");
    const third = ask(view.url);
    release.open();
    const shown = await Promise.all([one, other, third]);
    assert.deepEqual(await Promise.all(shown.map(bodyOf)), ["x", "x", "x"]);
    assert.ok(pages() < 3);
  });

  test("says why there is no page, and shows the next one", async (t) => {
    let broken = true;
    const { view } = await served(t, async () => {
      if (!broken) return { ok: true, html: "again" };
      broken = false;
      return failure("unknown-task", "It was discarded.");
    });
    const first = await ask(view.url);
    assert.deepEqual([first.statusCode, await bodyOf(first)], [503, "It was discarded.\n"]);
    assert.equal(await bodyOf(await ask(view.url)), "again");
  });

  test("ends at once: every connection is closed, and nobody listens any more", async (t) => {
    const { view } = await served(t);
    const events = await ask(`${view.url}events`);
    const closed = new Promise<void>((resolve) => events.once("close", resolve));
    events.on("error", () => undefined).resume();
    view.stop();
    await within(closed, 30_000, "the connection's end");
    const { port } = new URL(view.url);
    const outcome = await new Promise<string>((resolve) => {
      connect(Number(port), "127.0.0.1")
        .once("connect", () => resolve("connected"))
        .once("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    });
    assert.equal(outcome, "ECONNREFUSED");
  });
});
