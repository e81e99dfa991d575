import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { afterEach, describe, test } from "node:test";
import { installSignals, type SignalHost } from "../../src/extension/signals.ts";
import { until } from "../support/until.ts";
import { fakeSupervisor, hubWith } from "./support/fake-supervisor.ts";

afterEach(() => {
  hubWith(undefined);
});

function host() {
  const emitter = new EventEmitter();
  const killed: string[] = [];
  const fake: SignalHost = {
    pid: 4_242,
    on: (signal, listener) => emitter.on(signal, listener),
    off: (signal, listener) => emitter.off(signal, listener),
    kill: (pid, signal) => killed.push(`${signal} ${pid} with ${emitter.listenerCount(signal)} listeners`),
  };
  return { fake, killed, emitter };
}

function scene(shutdown: () => Promise<void> = async () => undefined) {
  const supervisor = fakeSupervisor({ shutdown });
  const hub = hubWith(supervisor);
  hub.signals = undefined;
  const { fake, killed, emitter } = host();
  installSignals(hub, fake, 20);
  return { hub, supervisor, killed, emitter, fake };
}

describe("signals", () => {
  test("are listened to once, however often a supervisor is opened", () => {
    const { hub, fake, emitter } = scene();
    installSignals(hub, fake);
    installSignals(hub, fake);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) assert.equal(emitter.listenerCount(signal), 1);
    hub.signals?.remove();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) assert.equal(emitter.listenerCount(signal), 0);
    assert.equal(hub.signals, undefined);
  });

  test("SIGINT ends the workers first and then has its usual effect", async () => {
    const { supervisor, killed, emitter } = scene();
    emitter.emit("SIGINT");
    await until(() => killed.length > 0, 10_000, "the signal again");
    assert.equal(supervisor.calls.filter((call) => call.name === "shutdown").length, 1);
    assert.deepEqual(killed, ["SIGINT 4242 with 0 listeners"]);
  });

  test("a second SIGINT does not wait", () => {
    const { killed, emitter } = scene(() => new Promise(() => undefined));
    emitter.emit("SIGINT");
    assert.deepEqual(killed, []);
    emitter.emit("SIGINT");
    assert.deepEqual(killed, ["SIGINT 4242 with 0 listeners"]);
  });

  for (const signal of ["SIGTERM", "SIGHUP"] as const) {
    test(`${signal} that Pi answers itself is left to Pi`, async () => {
      let ended: (() => void) | undefined;
      const { hub, killed, emitter } = scene(
        () =>
          new Promise((resolve) => {
            ended = resolve;
          }),
      );
      emitter.emit(signal);
      hub.quitSeen = true;
      ended?.();
      await hub.quitting;
      await new Promise(setImmediate);
      assert.deepEqual(killed, []);
    });

    test(`${signal} that nobody else answers gets its effect after the workers' end`, async () => {
      const { killed, emitter } = scene();
      emitter.emit(signal);
      await until(() => killed.length > 0, 10_000, "the signal again");
      assert.deepEqual(killed, [`${signal} 4242 with 0 listeners`]);
    });
  }

  test("even a failing shutdown does not swallow the signal", async () => {
    const { killed, emitter } = scene(() => Promise.reject(new Error("boom")));
    emitter.emit("SIGINT");
    await until(() => killed.length > 0, 10_000, "the signal again");
  });
});
