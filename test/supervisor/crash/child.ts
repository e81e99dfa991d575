/**
 * Fixture: `child <scene file> <point as JSON, or null> <task id, or "">` is a Pi that lives through the scene and kills
 * itself at the point. With a task id it recovers that task, else it starts one. One that lives on prints how often it
 * passed each kind of point.
 */
import { readFileSync } from "node:fs";
import { type Point, Reaper } from "./points.ts";

const [sceneFile = "", pointText = "null", taskId = ""] = process.argv.slice(2);
const reaper = new Reaper(JSON.parse(pointText) as Point | null);

async function main(): Promise<void> {
  const { openSupervisor, playPerson, startScene } = await import("./scene.ts");
  const scene = JSON.parse(readFileSync(sceneFile, "utf8"));
  const supervisor = openSupervisor(scene, (deps) => ({
    logFs: reaper.logFs(),
    createWorker: reaper.worker(deps.createWorker),
  }));
  if (taskId !== "") await supervisor.recover(taskId, { fresh: false });
  const view = await playPerson(scene, supervisor, taskId === "" ? await startScene(scene, supervisor) : taskId);
  console.log(JSON.stringify({ state: view.state, reason: view.reason, passed: reaper.passed }));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
