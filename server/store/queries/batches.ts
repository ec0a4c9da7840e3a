/** Rows of one statement: below every engine's limit of parameters. */
export const ROWS_PER_STATEMENT = 500

export function toBatches<T>(all: readonly T[], size = ROWS_PER_STATEMENT): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}
