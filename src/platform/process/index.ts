/** Processes by identity: who lives, who belongs to whose tree, and the only sender of signals. */
export { commandOf } from "./command.ts";
export { bootId, identify, isAlive, isOfEarlierBoot, isProcessNumber, isSameProcess, stateOf } from "./identity.ts";
export { carriesMark, type Mark, newMark, readMark } from "./mark.ts";
export { type NamedProcess, processNaming } from "./naming.ts";
export { isSessionId, namesSession, processesInSession } from "./session.ts";
export { maySignal, type SignalOutcome, signal, signalGroup } from "./signal.ts";
export { hasEnded, type ProcessRow, parseStat, readStat } from "./stat.ts";
export { type Census, type CensusQuery, identityOf, membersOf, takeCensus } from "./tree.ts";
