import { type PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { StoredFile } from '../../protocol/manifest/manifest.ts'

type OpenFile = (file: StoredFile) => Promise<Readable>

/** POSIX.1-2001. The caller must destroy the stream. `now` is the time of all files. */
export async function createTar(
  files: readonly StoredFile[],
  openFile: OpenFile,
  now: number,
): Promise<Readable> {
  const { pack } = await import('tar-stream')
  const archive = pack()
  let open: Readable | undefined
  archive.once('close', () => open?.destroy())
  const fill = async () => {
    for (const file of files) {
      open = await openFile(file)
      if (archive.destroying) return void open.destroy()
      const entry = archive.entry({ name: file.path, size: file.size, mode: 0o644, mtime: new Date(now) })
      await pipeline(open, entry)
    }
    archive.finalize()
  }
  fill().catch((error: Error) => archive.destroy(error))
  return Readable.from(archive)
}

/** The caller must destroy the stream. `now` is the time of all files. */
export async function createZip(
  files: readonly StoredFile[],
  openFile: OpenFile,
  now: number,
): Promise<Readable> {
  const { ZipFile } = await import('yazl')
  const archive = new ZipFile()
  const output = archive.outputStream as PassThrough
  const fail = (error: Error) => output.destroy(error)
  let open: Readable | undefined
  output.once('close', () => open?.destroy())
  for (const file of files)
    archive.addReadStreamLazy(zipPath(file.path), { ...ZIP_ENTRY, mtime: new Date(now) }, (send) => {
      openFile(file).then((source) => {
        open = source.once('error', fail)
        if (output.destroyed) source.destroy()
        else send(null, source)
      }, fail)
    })
  archive.end()
  return output
}

const ZIP_ENTRY = { mode: 0o100644, compressionLevel: 5 }

/** APPNOTE 4.4.17.1 forbids drive letters, which are ordinary names here. */
function zipPath(path: string): string {
  return /^[a-z]:/i.test(path) ? `./${path}` : path
}
