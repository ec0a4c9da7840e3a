import { pipeline, type Transform } from 'node:stream'

const CORRUPTION_CODES = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT'])

/** `make` is of node:zlib; throws `damage()` for invalid data. */
export async function* decompress(
  source: AsyncIterable<Buffer>,
  make: () => Transform,
  damage: () => Error,
): AsyncGenerator<Buffer, void, undefined> {
  const engine = make()
  pipeline(source, engine, () => {})
  try {
    yield* engine
  } catch (error) {
    throw CORRUPTION_CODES.has((error as NodeJS.ErrnoException).code ?? '') ? damage() : error
  } finally {
    engine.destroy()
  }
}
