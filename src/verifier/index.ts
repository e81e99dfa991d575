/** The independent verifier: frozen commands, a tree id, a report. */
export { type ChangedFile, changedFiles, type DiffStat, diffStat, diffText } from "./changed-files.ts";
export { checkoutTree } from "./checkout.ts";
export { writtenSince } from "./content-id.ts";
export { DEFAULT_CARRY, DEFAULT_VERIFY_TIMEOUT_MS, type FreezeInput, freezeVerification } from "./freeze.ts";
export { type GitHead, gitHead } from "./git-state.ts";
export { type Proposal, proposeVerification } from "./propose.ts";
export { type ArtifactSink, createVerifier, type Verifier, type VerifierDeps, type VerifyOptions } from "./run.ts";
export { sweepScratch } from "./scratch.ts";
export { type TreeId, type TreeNote, type TreeOptions, treeId } from "./tree-id.ts";
