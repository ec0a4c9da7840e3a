import { pipeline, type Transform } from 'node:stream'

const DAMAGE = new Set(['Z_DATA_ERROR', 'Z_BUF_ERROR', 'Z_NEED_DICT'])

/** What `make` (of node:zlib) turns `source` into, as it is asked for; throws `damage()` when that cannot be done. */
export async function* decompressed(
  source: AsyncIterable<Buffer>,
  make: () => Transform,
  damage: () => Error,
): AsyncGenerator<Buffer, void, undefined> {
  const engine = make()
  pipeline(source, engine, () => {})
  try {
    yield* engine
  } catch (error) {
    throw DAMAGE.has((error as NodeJS.ErrnoException).code ?? '') ? damage() : error
  } finally {
    engine.destroy()
  }
}
