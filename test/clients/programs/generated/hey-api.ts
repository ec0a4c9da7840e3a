import { createSite, finalizeVersion, listSites, uploadFile } from './generated'
import { client } from './generated/client.gen'

declare const process: { argv: string[] }
declare const console: { log(text: string): void }

async function main([, , , key]: string[]) {
  client.setConfig({ auth: key!, throwOnError: true })
  const page = '<h1>Hello</h1>'
  const files = [{ path: 'index.html', size: page.length, contentType: 'text/html' }]
  const { data: created } = await createSite({ body: { files }, throwOnError: true })
  const { slug, upload } = created
  const target = new URL(upload!.uploads[0]!.url)
  const [token, ct, exp] = ['token', 'ct', 'exp'].map((name) => target.searchParams.get(name)!)
  await uploadFile({
    path: { path: decodeURIComponent(target.pathname.slice('/api/v1/_upload/'.length)) },
    query: { token: token!, ct: ct!, exp: exp! },
    body: new Blob([page]),
    throwOnError: true,
  })
  const { versionId } = upload!
  await finalizeVersion({ path: { slug }, body: { versionId }, throwOnError: true })
  await listSites({ query: { limit: 5, deleted: false }, throwOnError: true })
  console.log(slug)
}

void main(process.argv)
