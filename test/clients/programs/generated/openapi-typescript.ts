import createClient from 'openapi-fetch'
import type { paths } from './generated'

declare const process: { argv: string[] }
declare const console: { log(text: string): void }

async function main([, , baseUrl, key]: string[]) {
  const headers = { Authorization: `Bearer ${key}` }
  const client = createClient<paths>({ baseUrl: baseUrl!, headers })
  const page = '<h1>Hello</h1>'
  const files = [{ path: 'index.html', size: page.length, contentType: 'text/html' }]
  const created = await client.POST('/api/v1/publish', { body: { files, spaMode: true, ttlSeconds: 3600 } })
  if (!created.data?.upload) throw new Error(JSON.stringify(created.error))
  const { slug, upload } = created.data
  const target = new URL(upload.uploads[0]!.url)
  const [token, ct, exp] = ['token', 'ct', 'exp'].map((name) => target.searchParams.get(name)!)
  const uploaded = await client.PUT('/api/v1/_upload/{path}', {
    params: {
      path: { path: decodeURIComponent(target.pathname.slice('/api/v1/_upload/'.length)) },
      query: { token: token!, ct: ct!, exp: exp! },
    },
    body: page,
    bodySerializer: (body) => body,
    headers: { 'Content-Type': '*/*' },
  })
  if (!uploaded.data) throw new Error(JSON.stringify(uploaded.error))
  const live = await client.POST('/api/v1/publish/{slug}/finalize', {
    params: { path: { slug } },
    body: { versionId: upload.versionId },
  })
  if (live.data?.status !== 'active') throw new Error(JSON.stringify(live.error))
  console.log(slug)
}

void main(process.argv)
