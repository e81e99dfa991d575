/** How times, lengths, money and counts are said in reports. */

/** `45 s`, `12 min`, `2 h 14 min`, `3 days`. */
export function lengthOf(ms: number): string {
  const s = Math.max(0, ms / 1_000);
  if (s < 10 && ms % 1_000 !== 0) return `${s.toFixed(1)} s`;
  const seconds = Math.round(s);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** Money as Claude estimates it. */
export function money(usd: number): string {
  if (usd > 0 && usd < 0.01) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** `1,234,567` */
export function number(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `1.2 M`, `34 k`, `567` */
export function tokens(n: number): string {
  if (n >= 1_000_000) return `${(n / 1_000_000).toFixed(1)} M`;
  if (n >= 10_000) return `${Math.round(n / 1_000)} k`;
  if (n >= 1_000) return `${(n / 1_000).toFixed(1)} k`;
  return String(n);
}

export function stateWords(state: string): string {
  return state === "human_required" ? "waits for a person" : state.replaceAll("_", " ");
}

export interface Clock {
  /** `07:00:12` */
  time(iso: string): string;
  /** `Mon 30 Nov, 07:00` */
  moment(iso: string): string;
  /** `30 Nov 2026, 07:00` */
  day(iso: string): string;
  /** `Europe/Berlin`, as given. */
  zone: string;
}

/** Times of day in a zone (IANA name); UTC for one that this Node does not know. */
export function clockIn(zone: string): Clock {
  const base = { hourCycle: "h23", timeZone: known(zone) ? zone : "UTC" } as const;
  const time = new Intl.DateTimeFormat("en-GB", { ...base, hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const moment = new Intl.DateTimeFormat("en-GB", {
    ...base,
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
  const day = new Intl.DateTimeFormat("en-GB", {
    ...base,
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
  const say = (format: Intl.DateTimeFormat) => (iso: string) => {
    const at = Date.parse(iso);
    return Number.isNaN(at) ? "unknown time" : format.format(at);
  };
  return { time: say(time), moment: say(moment), day: say(day), zone: base.timeZone };
}

function known(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
