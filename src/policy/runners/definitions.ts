/** Files that define what a runner does. When the task changed one that the gate cannot read, running it is asked. */
import { join } from "../paths/text.ts";

const DEFINITIONS: Readonly<Record<string, readonly string[]>> = {
  make: ["GNUmakefile", "makefile", "Makefile"],
  gmake: ["GNUmakefile", "makefile", "Makefile"],
  cmake: ["CMakeLists.txt"],
  ninja: ["build.ninja"],
  meson: ["meson.build"],
  just: ["justfile", "Justfile", ".justfile"],
  task: ["Taskfile.yml", "Taskfile.yaml"],
  rake: ["Rakefile"],
  invoke: ["tasks.py"],
  nox: ["noxfile.py"],
  tox: ["tox.ini"],
  gradle: ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
  gradlew: ["gradlew", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"],
  mvn: ["pom.xml"],
  mvnw: ["mvnw", "pom.xml"],
  ant: ["build.xml"],
  cargo: ["build.rs", ".cargo/config.toml", ".cargo/config"],
  turbo: ["turbo.json"],
  nx: ["nx.json"],
  bazel: ["WORKSPACE", "MODULE.bazel", ".bazelrc"],
  npm: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  bun: ["package.json"],
  mix: ["mix.exs"],
  grunt: ["Gruntfile.js"],
  gulp: ["gulpfile.js"],
};

export function definitionFiles(program: string, folder: string): string[] {
  const names = Object.hasOwn(DEFINITIONS, program) ? (DEFINITIONS[program] ?? []) : [];
  return names.map((name) => join(folder, name));
}
