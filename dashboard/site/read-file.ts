import { slipway } from '../api/slipway.ts'

/** The bytes of a file. Costs one API request. */
export async function readFile(slug: string, path: string, versionId: string): Promise<Blob> {
  const { bytes } = await slipway.file(slug, path, versionId)
  const chunks: BlobPart[] = []
  for await (const chunk of bytes()) chunks.push(new Uint8Array(chunk))
  return new Blob(chunks)
}
