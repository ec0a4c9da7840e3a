import { createGunzip } from 'node:zlib'
import { Failure, invalid } from '../failure.ts'
import { type Budget, shown } from './budget.ts'
import { Chunks } from './chunks.ts'
import { decompressed } from './decompressed.ts'
import { closed, type Found, isFolder, SMALL, sitePath, streamedFile, wholeFile } from './file.ts'
import {
  BLOCK,
  type Extension,
  readExtension,
  readHeader,
  readLongName,
  SPARSE,
  type TarHeader,
} from './tar-header.ts'

/** Archivers for macOS keep extended attributes in these headers; more than this is no archive of a site. */
const EXTENSION_BYTES = 2 ** 20

const ZEROS = Buffer.alloc(64 * 2 ** 10)

/** Kinds of entry that are no files, in words, by typeflag. */
const NO_FILES: Record<string, string> = {
  '1': 'is a hard link; archive with --hard-dereference',
  '2': 'is a symbolic link; archive with --dereference',
  '3': 'is a device',
  '4': 'is a device',
  '6': 'is a named pipe',
  S: SPARSE,
}

/**
 * The files of a tar archive, in its order, while it arrives. An archive without the empty block at its end was
 * cut off and is refused; so is one with something behind it, which other readers would ignore without a word.
 */
export async function* tarFiles(
  source: AsyncIterable<Buffer>,
  budget: Budget,
): AsyncGenerator<Found, void, undefined> {
  await using chunks = new Chunks(source)
  let extension: Extension = {}
  for (;;) {
    const block = await expect(chunks.exactly(BLOCK))
    if (isEmpty(block)) break
    const header = readHeader(block)
    budget.record(BLOCK)
    const more = await readMore(header, chunks, budget)
    if (more) extension = { ...extension, ...more }
    else {
      const { path = header.name, size = header.size } = extension
      yield* fileOf({ type: header.type, name: path, size }, chunks, budget)
      extension = {}
    }
  }
  await expectNothing(chunks, budget)
}

/** The bytes inside gzip, of one or several members; zeros behind them are ignored, other garbage is refused. */
export function gunzipped(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  return decompressed(
    source,
    () => createGunzip({ chunkSize: 64 * 2 ** 10 }),
    () => invalid([{ field: 'archive', message: 'the gzip data is damaged or cut off' }]),
  )
}

/** What a header says about the entry after it, or undefined when it is an entry itself. */
async function readMore(
  { type, size }: TarHeader,
  chunks: Chunks,
  budget: Budget,
): Promise<Extension | undefined> {
  if (!'xgLK'.includes(type)) return undefined
  budget.record(size)
  if (size > EXTENSION_BYTES) {
    throw new Failure('PAYLOAD_TOO_LARGE', `An extended header may have at most ${EXTENSION_BYTES} bytes`)
  }
  const body = (await expect(chunks.exactly(padded(size)))).subarray(0, size)
  if (type === 'x') return readExtension(body)
  // Global headers carry comments (git archive), 'K' the target of a link, and links are refused.
  return type === 'L' ? { path: readLongName(body) } : {}
}

async function* fileOf(
  { name, size, type }: TarHeader,
  chunks: Chunks,
  budget: Budget,
): AsyncGenerator<Found, void, undefined> {
  const path = sitePath(name)
  // POSIX: the size of a folder says what it may grow to, nothing follows.
  if (type === '5') return
  if (type !== '0' && type !== '7') {
    throw invalid([
      { field: shown(path), message: NO_FILES[type] ?? 'is of a kind that cannot be published' },
    ])
  }
  if (isFolder(path)) budget.record(size)
  else if (budget.isLitter(path)) budget.leaveOut(path, size)
  else {
    budget.admit(path, size)
    return yield* size <= SMALL ? small(path, size, chunks) : large(path, size, chunks)
  }
  await pass(padded(size), chunks)
}

async function* small(path: string, size: number, chunks: Chunks): AsyncGenerator<Found, void, undefined> {
  const bytes = await expect(chunks.exactly(padded(size)), path)
  yield wholeFile(path, bytes.subarray(0, size))
}

async function* large(path: string, size: number, chunks: Chunks): AsyncGenerator<Found, void, undefined> {
  let left = size
  async function* contents(): AsyncGenerator<Buffer, void, undefined> {
    while (left > 0) {
      const piece = await expect(chunks.some(left), path)
      left -= piece.length
      yield piece
    }
  }
  const file = streamedFile(path, size, contents())
  try {
    yield file
  } finally {
    await closed(file)
  }
  await pass(left + padded(size) - size, chunks, path)
}

async function expectNothing(chunks: Chunks, budget: Budget): Promise<void> {
  for (;;) {
    const rest = await chunks.some(ZEROS.length)
    if (!rest) return
    budget.record(rest.length)
    if (!isEmpty(rest)) {
      throw invalid([{ field: 'archive', message: 'something follows its end, perhaps a second archive' }])
    }
  }
}

async function pass(bytes: number, chunks: Chunks, path?: string): Promise<void> {
  if (!(await chunks.skip(bytes))) throw cutOff(path)
}

async function expect(bytes: Promise<Buffer | undefined>, path?: string): Promise<Buffer> {
  const found = await bytes
  if (!found) throw cutOff(path)
  return found
}

function cutOff(path: string | undefined): Error {
  return path === undefined
    ? invalid([{ field: 'archive', message: 'ends too early: it was cut off' }])
    : invalid([
        { field: shown(path), message: 'the archive ends in the middle of this file: it was cut off' },
      ])
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK
}

/** Whether these bytes, no more than ZEROS has, are all zero. */
function isEmpty(bytes: Buffer): boolean {
  return bytes.equals(ZEROS.subarray(0, bytes.length))
}
