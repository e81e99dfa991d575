/**
 * Where a notice may go. A person who writes `http://127.0.0.1:8080` or `http://10.0.0.7` means it; a *name* that turns
 * out to be a private address (a stale or hostile DNS record) is refused unless the configuration allows it. Link-local
 * addresses (cloud metadata lives there) and those that are no host at all need that permission too.
 */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { failure, type Result } from "../core/result.ts";

export type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export type AddressKind = "public" | "private" | "special";

/** Carried by the error of a refused look-up. */
export const PRIVATE_TARGET = "PRIVATE_TARGET";

const PRIVATE = blockList([
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["100.64.0.0", 10],
  ["::1", 128],
  ["fc00::", 7],
]);
const SPECIAL = blockList([
  ["0.0.0.0", 8],
  ["169.254.0.0", 16],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
  ["::", 128],
  ["fe80::", 10],
  ["ff00::", 8],
  ["2001:db8::", 32],
]);
/** IPv6 forms that stand for an IPv4 address: mapped, translated (NAT64), and the old compatible one. */
const IPV4_IN_IPV6 = /^(?:::ffff:|64:ff9b::|::)(\d+\.\d+\.\d+\.\d+)$/i;

export function addressKind(address: string): AddressKind {
  const inner = IPV4_IN_IPV6.exec(address)?.[1] ?? hexMapped(address);
  if (inner !== undefined) return addressKind(inner);
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (SPECIAL.check(address, family)) return "special";
  return PRIVATE.check(address, family) ? "private" : "public";
}

export interface Target {
  url: URL;
  lookup: LookupFunction;
}

/** Reasons: `bad-url`, `private-target`. No message holds the address. */
export function targetOf(
  text: string,
  allowPrivate: boolean,
  resolve: Resolve = systemLookup,
): Result<{ target: Target }> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    return failure("bad-url", "The webhook's address is not an http or https URL. Correct it in the configuration.");
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && addressKind(host) === "special" && !allowPrivate) {
    return failure(
      "private-target",
      "The webhook's address is a link-local or reserved one. Set webhook.allowPrivate if that is meant.",
    );
  }
  const isLocalName = host === "localhost" || host.endsWith(".localhost");
  return { ok: true, target: { url, lookup: guardedLookup(resolve, allowPrivate, isLocalName) } };
}

/** The connection goes to exactly the addresses that were judged: nothing is looked up twice. */
function guardedLookup(resolve: Resolve, allowPrivate: boolean, isLocalName: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "", 0);
      const fine = addresses.filter(({ address }) => {
        const kind = addressKind(address);
        return allowPrivate || kind === "public" || (isLocalName && kind === "private");
      });
      const [first] = fine;
      // One bad address among good ones is a rebinding attempt or a mistake: none is used.
      if (first === undefined || fine.length < addresses.length) {
        return callback(Object.assign(new Error("not a public address"), { code: PRIVATE_TARGET }), "", 0);
      }
      if (options.all === true) return callback(null, fine);
      callback(null, first.address, first.family);
    });
  };
}

function blockList(ranges: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [address, bits] of ranges) list.addSubnet(address, bits, isIP(address) === 6 ? "ipv6" : "ipv4");
  return list;
}

/** `::ffff:7f00:1`, as URLs and resolvers may spell a mapped address. */
function hexMapped(address: string): string | undefined {
  const [, high = "", low = ""] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === "") return undefined;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}
