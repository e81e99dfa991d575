/** The live view in a real browser: it follows its task, keeps what its reader has opened, and runs nothing but its script. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { LIVE, openLiveView } from "../../src/extension/live-view.ts";
import { type Report, renderPage } from "../../src/report/index.ts";
import { hostileReport } from "../report/hostile.ts";
import { LogBuilder } from "../report/long-task.ts";
import { skipBrowser, startBrowser } from "../support/browser.ts";
import { until } from "../support/until.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

test("the live view in a browser follows the task and lets nothing else in", { skip: skipBrowser() }, async (t) => {
  const browser = await startBrowser(t);
  const log = new LogBuilder().created().claimed("start").worker(false).prompt("goal", "x");
  log.call("Bash", { command: "ls" }).turnOver("First.", 0.1, undefined).prompt("person", "And now?");
  let report: () => Report = () => log.report();
  let change: () => void = () => undefined;
  const opened = await openLiveView({
    taskId: "t-1",
    page: async () => ({
      ok: true,
      html: renderPage(report(), { zone: "Europe/Berlin", now: "2026-11-30T06:00:00.000Z", live: LIVE }),
    }),
    follow: (onChange, signal) => {
      change = onChange;
      return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
  });
  assert.ok(opened.ok);
  const { view } = opened;
  t.after(() => view.stop());

  const bare = await browser.newContext({ bypassCSP: true, colorScheme: "dark" });
  const dark = await bare.newPage();
  await dark.goto(view.url, { timeout: 60_000 });
  await dark.evaluate(AXE);
  const found = await dark.evaluate(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id))`);
  assert.deepEqual(found, [], "axe-core");
  await bare.close();

  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests = new Set<string>();
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.add(request.url()));
  await page.goto(view.url, { timeout: 60_000 });
  const shows = (text: string): Promise<unknown> =>
    until(
      async () => (await page.locator("#live, header, main").allTextContents()).join("\n").includes(text),
      60_000,
      text,
      100,
    );
  await shows("Live: it follows the task.");

  const chapters = page.locator("#timeline details.chapter");
  const states = () =>
    page.evaluate('[...document.querySelectorAll("#timeline details.chapter")].map((one) => one.open)');
  const first = chapters.filter({ hasText: "goal" }).first().locator("summary").first();
  await first.focus();
  const before = await states();
  await page.keyboard.press("Enter");
  const toggled = await states();
  assert.notDeepEqual(toggled, before);
  log.say("I go on with the parser.").call("Bash", { command: "git push" }, { verdict: "deny", rule: "git.push" });
  change();
  await shows("I go on with the parser.");
  assert.deepEqual(await states(), toggled, "as the reader left it");
  assert.equal(await page.evaluate("document.activeElement.tagName"), "SUMMARY", "and where the reader was");
  await shows("Live: up to date at");

  await page.evaluate("globalThis.mark = 1");
  report = hostileReport;
  change();
  await shows("<U+202E>");
  const made = await page.evaluate(`({
    scripts: document.querySelectorAll("script, img, iframe, object, embed, link, form, base").length,
    owned: globalThis.owned === undefined, same: globalThis.mark === 1 })`);
  assert.deepEqual(made, { scripts: 1, owned: true, same: true }, "taken over without a reload, and nothing of it ran");
  const blocked = await page.evaluate(`(async () => {
    const run = document.createElement("script");
    run.textContent = "globalThis.owned = 1";
    document.body.append(run);
    const sent = await fetch("http://127.0.0.1:9/").then(() => "sent", () => "blocked");
    return [sent, globalThis.owned === undefined];
  })()`);
  assert.deepEqual(blocked, ["blocked", true], "the policy holds for whatever gets in");
  assert.ok(
    complaints.every((text) => /Content Security Policy|Content-Security-Policy/.test(text)),
    complaints.join("\n"),
  );
  assert.deepEqual(
    [...requests].filter((url) => !url.startsWith(view.url) && url !== "http://127.0.0.1:9/"),
    [],
  );

  view.stop();
  await shows("Not live any more");
  await context.close();
});
