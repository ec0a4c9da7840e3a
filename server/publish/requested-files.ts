import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import type { PublishRequest } from '../../protocol/api/publish.schema.ts'
import { EMPTY_HASH } from '../../protocol/manifest/empty-files.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'

const NO_BYTES = new Uint8Array()

/** Files with bytes come first, so that their numbers are those of the request. */
export function listRequestedFiles({
  files,
  emptyFiles = [],
}: Pick<PublishRequest, 'files' | 'emptyFiles'>): FileEntry[] {
  return [...files, ...emptyFiles.map(toEmptyFile)]
}

function toEmptyFile(path: string): FileEntry {
  return { path, size: 0, contentType: mediaType(path, NO_BYTES), hash: EMPTY_HASH }
}
