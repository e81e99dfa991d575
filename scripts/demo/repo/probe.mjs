// Prints what the parser makes of its arguments.
import { parseDuration } from "./src/duration.js";

for (const text of process.argv.slice(2)) {
  try {
    console.log(text, "=>", parseDuration(text));
  } catch (error) {
    console.log(text, "=>", error.message);
  }
}
