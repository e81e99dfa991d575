import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  cgroupState,
  isOurCgroup,
  makeCgroup,
  ownCgroup,
  removeCgroup,
} from "../../../src/platform/containment/cgroup.ts";
import { NO_CGROUP } from "./trees.ts";

const V1 = "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct";

describe("our own cgroup", () => {
  const cases: { name: string; mounts: string[]; membership: string; path?: string }[] = [
    {
      name: "is below the one mount of a unified system",
      mounts: ["30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"],
      membership: "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n",
      path: "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope",
    },
    {
      name: "is found beside v1 hierarchies of a hybrid system",
      mounts: [V1, "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw"],
      membership: "9:name=systemd:/\n4:memory:/x\n0::/\n",
      path: "/sys/fs/cgroup/unified",
    },
    {
      name: "is found where a container mounts only its own part",
      mounts: ["30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw"],
      membership: "0::/docker/abc/inner\n",
      path: "/sys/fs/cgroup/inner",
    },
    {
      name: "is the mount itself when that part is where we are",
      mounts: ["30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw"],
      membership: "0::/docker/abc\n",
      path: "/sys/fs/cgroup",
    },
    {
      name: "is found below a mount point with a blank in its name",
      mounts: ["30 24 0:26 / /mnt/c\\040groups rw - cgroup2 none rw"],
      membership: "0::/a\n",
      path: "/mnt/c groups/a",
    },
    { name: "is none without cgroup v2", mounts: [V1], membership: "4:memory:/x\n" },
    {
      name: "is none in a mount of another part",
      mounts: ["30 24 0:26 /docker/abc /c rw - cgroup2 c rw"],
      membership: "0::/docker/abcd\n",
    },
    {
      name: "is none above the namespace's root",
      mounts: ["30 24 0:26 / /c rw - cgroup2 c rw"],
      membership: "0::/../other\n",
    },
    { name: "is none without /proc", mounts: [""], membership: "" },
  ];
  for (const { name, mounts, membership, path } of cases) {
    test(name, () => {
      const own = ownCgroup(mounts.join("\n"), membership);
      if (path === undefined) assert.ok(!own.ok && own.reason === "no-cgroup");
      else assert.deepEqual(own, { ok: true, path });
    });
  }
});

const ID = "0123456789abcdef0123456789abcdef";
for (const { path, ours } of [
  { path: `/sys/fs/cgroup/a/pi-claude-supervisor-${ID}`, ours: true },
  { path: `/pi-claude-supervisor-${ID}`, ours: true },
  { path: "/", ours: false },
  { path: "/sys/fs/cgroup", ours: false },
  { path: "/sys/fs/cgroup/user.slice", ours: false },
  { path: `relative/pi-claude-supervisor-${ID}`, ours: false },
  { path: `/sys/../pi-claude-supervisor-${ID}`, ours: false },
  { path: `/sys/pi-claude-supervisor-${ID}/..`, ours: false },
  { path: `/sys/pi-claude-supervisor-${ID}/child`, ours: false },
  { path: `/sys/pi-claude-supervisor-${ID}x`, ours: false },
  { path: "", ours: false },
]) {
  test(`a recorded cgroup ${JSON.stringify(path)} is ${ours ? "" : "not "}one that we can have made`, () => {
    assert.equal(isOurCgroup(path), ours);
  });
}

describe("a cgroup of ours", { skip: NO_CGROUP }, () => {
  test("is empty at first, removed with what was made inside it, and then gone", () => {
    const made = makeCgroup(ID.replace("0", "f"));
    assert.ok(made.ok);
    mkdirSync(join(made.path, "inner", "most"), { recursive: true });
    assert.equal(cgroupState(made.path), "empty");
    assert.equal(removeCgroup(made.path), true);
    assert.equal(existsSync(made.path), false);
    assert.equal(cgroupState(made.path), "gone");
    assert.equal(removeCgroup(made.path), true);
  });

  test("is unknown, not gone, where its hierarchy can't be seen", () => {
    assert.equal(cgroupState(`/nowhere/pi-claude-supervisor-${ID}`), "unknown");
    assert.equal(cgroupState(`/tmp/pi-claude-supervisor-${ID}`), "unknown");
  });
});
