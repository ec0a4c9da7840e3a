import type { BundleReceipt, BundleTarget } from '../../protocol/api/publish.schema.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { concat, padding, sizeInTar, TAR_END, tarHeader } from '../../protocol/tar.ts'
import type { Bytes } from './transport.ts'
import {
  assertReadable,
  assertSize,
  fileChanged,
  isStream,
  ProgressCounter,
  type PublishFile,
  type UploadOptions,
} from './upload.ts'

/** Files up to this size are sent in bundles. */
const MAX_BUNDLED_FILE_BYTES = 256 * 1024
/** Large enough to amortize a request, small enough to be repeated. */
const TARGET_BUNDLE_BYTES = 2 * 1024 * 1024
const MAX_BUNDLE_FILES = 250

/** Sends a tar to a bundle target and returns the receipt. */
export type PutBundle = (target: BundleTarget, body: Bytes, sending: UploadOptions) => Promise<BundleReceipt>

/** Groups the files into requests, small ones together; `maxBytes` is the limit of one request. */
export function groupIntoBundles(files: readonly PublishFile[], maxBytes: number): PublishFile[][] {
  const maxBundleBytes = Math.min(TARGET_BUNDLE_BYTES, maxBytes)
  const bundles = files.filter(({ size }) => size > MAX_BUNDLED_FILE_BYTES).map((file) => [file])
  let open: PublishFile[] = []
  let bytes = TAR_END.length
  for (const file of files) {
    if (file.size > MAX_BUNDLED_FILE_BYTES) continue
    const more = sizeInTar(file.path, file.size)
    if (open.length === 0 || open.length === MAX_BUNDLE_FILES || bytes + more > maxBundleBytes) {
      open = []
      bytes = TAR_END.length
      bundles.push(open)
    }
    open.push(file)
    bytes += more
  }
  return bundles
}

/**
 * Sends files together as a tar. `onBytes` receives the number of sent bytes, and its reversal when the
 * attempt fails. Rejects with FILE_CHANGED for a file whose size differs from the manifest.
 */
export async function uploadBundle(
  files: readonly PublishFile[],
  target: BundleTarget,
  put: PutBundle,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const contents = await Promise.all(files.map(readContent))
  const body = packTar(files, contents)
  const size = body instanceof Blob ? body.size : body.byteLength
  const bytes = sumSizes(files)
  const progress = new ProgressCounter(bytes, onBytes)
  try {
    await put(target, body, { size, onSent: (sent) => progress.advanceTo(Math.floor((sent / size) * bytes)) })
    progress.advanceTo(bytes)
  } catch (error) {
    progress.rollback()
    for (const [index, file] of files.entries()) await assertReadable(file, contents[index]!, error)
    throw error
  }
}

/** All bytes of a small file. A browser's file stays on its disk. */
async function readContent(file: PublishFile): Promise<Uint8Array | Blob> {
  const body = await file.open()
  if (!isStream(body)) return assertSize(file, body)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > file.size) throw fileChanged(file)
    chunks.push(chunk)
  }
  return assertSize(file, concat(chunks))
}

/** A Blob when files are: it is read from the disk as it is sent, and its length is known. */
function packTar(files: readonly PublishFile[], contents: readonly (Uint8Array | Blob)[]): Uint8Array | Blob {
  const pieces = files.flatMap(({ path, size }, index) => [
    tarHeader(path, size),
    contents[index]!,
    padding(size),
  ])
  pieces.push(TAR_END)
  const bytes = pieces.filter((piece) => piece instanceof Uint8Array)
  return bytes.length === pieces.length ? concat(bytes) : new Blob(pieces as BlobPart[])
}
