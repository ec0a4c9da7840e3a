import { test } from 'node:test'

/**
 * Whether every variant of a flow runs, and random tests their long form, instead of what stands for them in `npm test`: `npm test --
 * --all-variants` and `npm run ci-jobs` set it.
 */
export const ALL_VARIANTS = process.env.TEST_VARIANTS === 'all'

/** Registers a variant of a flow, of which `npm test` drives another one. */
export function testVariant(title: string, work: () => Promise<void>): void {
  if (ALL_VARIANTS) test(title, work)
}
