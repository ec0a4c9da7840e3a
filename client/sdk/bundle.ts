import type { BundleReceipt, BundleTarget } from '../wire.ts'
import { joined, padding, sizeInTar, TAR_END, tarHeader } from './tar.ts'
import type { Bytes } from './transport.ts'
import {
  changed,
  isStream,
  type PublishFile,
  refuseUnreadable,
  type Sending,
  Tally,
  whole,
} from './upload.ts'

/** Files up to this size go into bundles. */
const SMALL = 256 * 1024
/** Enough for a request to be worth its while, and little enough to be sent again. */
const BUNDLE_BYTES = 2 * 1024 * 1024
const BUNDLE_FILES = 250

/** Carries a tar to a bundle's target and brings back the receipt. */
export type PutBundle = (target: BundleTarget, body: Bytes, sending: Sending) => Promise<BundleReceipt>

/** The files in the parts in which they are sent, small ones together; `maxBytes` is the most that one request may have. */
export function parcels(files: readonly PublishFile[], maxBytes: number): PublishFile[][] {
  const most = Math.min(BUNDLE_BYTES, maxBytes)
  const parcels = files.filter(({ size }) => size > SMALL).map((file) => [file])
  let open: PublishFile[] = []
  let bytes = TAR_END.length
  for (const file of files) {
    if (file.size > SMALL) continue
    const more = sizeInTar(file.path, file.size)
    if (open.length === 0 || open.length === BUNDLE_FILES || bytes + more > most) {
      open = []
      bytes = TAR_END.length
      parcels.push(open)
    }
    open.push(file)
    bytes += more
  }
  return parcels
}

/**
 * Sends files together as a tar. `onBytes` hears how many of their bytes have gone, and hears it taken back when the try
 * fails. Rejects with FILE_CHANGED for the file whose bytes are not as many as the manifest says.
 */
export async function uploadBundle(
  files: readonly PublishFile[],
  target: BundleTarget,
  put: PutBundle,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const contents = await Promise.all(files.map(contentOf))
  const body = packed(files, contents)
  const size = body instanceof Blob ? body.size : body.byteLength
  const bytes = files.reduce((sum, file) => sum + file.size, 0)
  const tally = new Tally(bytes, onBytes)
  try {
    await put(target, body, { size, onSent: (sent) => tally.upTo(Math.floor((sent / size) * bytes)) })
    tally.upTo(bytes)
  } catch (error) {
    tally.takeBack()
    for (const [index, file] of files.entries()) await refuseUnreadable(file, contents[index]!, error)
    throw error
  }
}

/** All of a small file. A browser's file stays on its disk. */
async function contentOf(file: PublishFile): Promise<Uint8Array | Blob> {
  const body = await file.open()
  if (!isStream(body)) return whole(file, body)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > file.size) throw changed(file)
    chunks.push(chunk)
  }
  return whole(file, joined(chunks))
}

/** A Blob where files are: it is read from the disk as it is sent, and its length is known. */
function packed(files: readonly PublishFile[], contents: readonly (Uint8Array | Blob)[]): Uint8Array | Blob {
  const pieces = files.flatMap(({ path, size }, index) => [
    tarHeader(path, size),
    contents[index]!,
    padding(size),
  ])
  pieces.push(TAR_END)
  const bytes = pieces.filter((piece) => piece instanceof Uint8Array)
  return bytes.length === pieces.length ? joined(bytes) : new Blob(pieces as BlobPart[])
}
