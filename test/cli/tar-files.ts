import { Readable } from 'node:stream'
import { extract } from 'tar-stream'

/** The files in a tar in their order, as another implementation reads them. */
export async function filesInTar(tar: Buffer): Promise<[path: string, bytes: Buffer][]> {
  const files: [string, Buffer][] = []
  for await (const entry of Readable.from([tar]).pipe(extract())) {
    files.push([entry.header.name, Buffer.concat(await Array.fromAsync(entry as AsyncIterable<Buffer>))])
  }
  return files
}
