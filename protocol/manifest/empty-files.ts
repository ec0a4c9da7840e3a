import type { FileEntry } from '../api/fields.schema.ts'

/** SHA-256 of no bytes, which is that of every empty file. No object holds them. */
export const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Files as a request names them: an entry of a manifest has a positive size (spec 2.2), so empty files are paths. */
interface SeparatedFiles<File> {
  files: File[]
  emptyFiles: string[]
}

/** Names the empty files apart; each list keeps its order. */
export function separateEmpty<File extends Pick<FileEntry, 'path' | 'size'>>(
  all: readonly File[],
): SeparatedFiles<File> {
  const emptyFiles = all.filter(({ size }) => size === 0).map(({ path }) => path)
  return { files: all.filter(({ size }) => size !== 0), emptyFiles }
}
