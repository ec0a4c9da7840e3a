/** Maximum lengths of what an operator writes about an action, in characters: for the owner or operators, and for visitors. */
export const MAX_REASON_LENGTH = 1000
export const MAX_PUBLIC_REASON_LENGTH = 500
