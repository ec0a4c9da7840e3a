import { hash } from 'node:crypto'
import type { PublishFile } from '../../client/sdk/slipway.ts'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'

/** The files of a site: contents by path. */
export type Contents = Record<string, string | Buffer>

export function sha256(content: string | Buffer): string {
  return hash('sha256', content)
}

/** The manifest entry of a file, with its hash. */
export function toEntry(path: string, content: string | Buffer): Required<FileEntry> {
  const bytes = Buffer.from(content)
  return { path, size: bytes.length, contentType: mediaType(path, bytes), hash: sha256(bytes) }
}

export function toManifest(contents: Contents): Required<FileEntry>[] {
  return Object.entries(contents).map(([path, content]) => toEntry(path, content))
}

/** A manifest without hashes, so that every file has to be uploaded. */
export function toPlainManifest(contents: Contents): FileEntry[] {
  return toManifest(contents).map(({ hash: _, ...entry }) => entry)
}

/** The files as the SDK takes them. */
export function toFiles(contents: Contents): PublishFile[] {
  return Object.entries(contents).map(([path, content]) => ({
    ...toEntry(path, content),
    open: () => Buffer.from(content),
  }))
}
