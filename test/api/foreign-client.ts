import { request } from 'node:http'
import { json } from 'node:stream/consumers'

/** What this client reads of a created site. */
interface Publication {
  slug: string
  siteUrl: string
}

type Files = Record<string, { type: string; bytes: Buffer }>

/**
 * A client that was written for another service with the same protocol: it knows `POST {base_url}/api/v1/publish`
 * and follows the URLs in the responses.
 */
export async function publishFromResponses(baseUrl: string, files: Files): Promise<Publication> {
  const manifest = Object.entries(files).map(([path, { type, bytes }]) => {
    return { path, size: bytes.length, contentType: type }
  })
  const headers = { 'Content-Type': 'application/json' }
  const created = await call(
    'POST',
    `${baseUrl}/api/v1/publish`,
    headers,
    JSON.stringify({ files: manifest }),
  )
  const { versionId, uploads, finalizeUrl } = created.upload
  for (const { path, method, url, headers } of uploads) await call(method, url, headers, files[path]!.bytes)
  await call('POST', finalizeUrl, headers, JSON.stringify({ versionId }))
  return { slug: created.slug, siteUrl: created.siteUrl }
}

function call(
  method: string,
  url: string,
  headers: Record<string, string>,
  body: string | Buffer,
  // biome-ignore lint/suspicious/noExplicitAny: the response is not validated
): Promise<any> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers }, (answer) => {
      const { statusCode = 0 } = answer
      if (statusCode >= 200 && statusCode < 300) json(answer).then(resolve, reject)
      else reject(new Error(`${method} ${url} answered ${statusCode}`))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
