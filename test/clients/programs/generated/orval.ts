import { createSite, finalizeVersion, listSites, uploadFile } from './generated'

declare const process: { argv: string[] }
declare const console: { log(text: string): void }

async function main([, , , key]: string[]) {
  const options = { headers: { Authorization: `Bearer ${key}` } }
  const page = '<h1>Hello</h1>'
  const files = [{ path: 'index.html', size: page.length, contentType: 'text/html' }]
  const created = await createSite({ files }, undefined, options)
  if (created.status !== 201) throw new Error(created.data.hint)
  const { slug, upload } = created.data
  const target = new URL(upload!.uploads[0]!.url)
  const [token, ct, exp] = ['token', 'ct', 'exp'].map((name) => target.searchParams.get(name)!)
  const path = decodeURIComponent(target.pathname.slice('/api/v1/_upload/'.length))
  const uploaded = await uploadFile(path, new Blob([page]), { token: token!, ct: ct!, exp: exp! })
  if (uploaded.status !== 200) throw new Error(uploaded.data.hint)
  const live = await finalizeVersion(slug, { versionId: upload!.versionId }, options)
  if (live.status !== 200) throw new Error(live.data.hint)
  const listed = await listSites({ limit: 5, deleted: false }, options)
  if (listed.status !== 200) throw new Error(listed.data.hint)
  console.log(slug)
}

void main(process.argv)
