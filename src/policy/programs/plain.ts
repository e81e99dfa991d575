/** Readers that take file names and can do nothing else: fit for `xargs`, `find -exec` and loops. */
const PLAIN = new Set(
  (
    "cat head tail nl wc grep egrep fgrep rg ls stat file du md5sum sha1sum sha256sum sha512sum cksum basename dirname echo " +
    "printf realpath readlink cut sed awk jq diff cmp od strings test [ sort uniq"
  ).split(" "),
);

export function isPlainReader(name: string): boolean {
  return PLAIN.has(name);
}
