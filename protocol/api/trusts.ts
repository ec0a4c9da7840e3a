// Trusted publishing (contract, "Trusted publishing"): CI jobs of a repository get keys without a stored secret.

/** Kinds of forges, by the claims of their tokens. */
export const FORGES = ['github', 'gitlab'] as const

export type Forge = (typeof FORGES)[number]

/** Maximum length of a repository, and of a branch or another condition, in characters. */
export const MAX_CONDITION_LENGTH = 255
