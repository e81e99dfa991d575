/** Path arithmetic on absolute POSIX paths, as text: the disk is asked elsewhere. */

/** Removes `.`, `..`, doubled and trailing slashes. `/a/../..` is `/`. */
export function normalise(path: string): string {
  if (isNormal(path)) return path;
  const out: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === "..") out.pop();
    else out.push(part);
  }
  return `/${out.join("/")}`;
}

function isNormal(path: string): boolean {
  if (path.charCodeAt(0) !== 47) return false;
  if (path.length > 1 && path.endsWith("/")) return false;
  return !path.includes("//") && !path.includes("/.") ? true : !/\/\/|\/\.\.?(?:\/|$)/.test(path);
}

/** `value` against `folder`; the result may still hold `..`. */
export function join(folder: string, value: string): string {
  if (value.startsWith("/")) return value;
  return folder === "/" ? `/${value}` : `${folder}/${value}`;
}

export function parent(path: string): string {
  const cut = path.lastIndexOf("/");
  return cut <= 0 ? "/" : path.slice(0, cut);
}

export function basename(path: string): string {
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === 47) end -= 1;
  return path.slice(path.lastIndexOf("/", end - 1) + 1, end);
}

/** Whether `path` is `folder` or stands in it. `/workspace-other` is not inside `/workspace`. */
export function isInside(path: string, folder: string): boolean {
  if (folder === "/") return true;
  return path.startsWith(folder) && (path.length === folder.length || path.charCodeAt(folder.length) === 47);
}
