import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { openApiDocument } from '../../server/api/openapi.ts'
import { routes } from '../../server/api/routes.ts'
import type { ApiServices } from '../../server/api/services.ts'
import { readConfig } from '../../server/config/settings.ts'
import { allGuides, guideContent, guideSource, isGuide } from './guides.ts'
import { referenceContent } from './reference.ts'

/** Served as `/llms-full.txt`. */
const ALL_GUIDES = 'llms-full.txt'

// `node scripts/reference/main.ts FOLDER` writes the content of /docs into FOLDER/reference.html, and that of the guides
// into FOLDER/docs. The service fills in its URL and its version.

const folder = process.argv[2]!
// The routes and the default limits determine the document: no handler is called.
const pendingVersions = { maxFiles: readConfig({}).ownedFiles }
const table = routes({ baseUrl: 'http://localhost', pendingVersions } as ApiServices)
mkdirSync(join(folder, 'docs'), { recursive: true })
const document = openApiDocument(table, {
  baseUrl: '{base_url}',
  branding: DEFAULT_BRANDING,
  version: '{version}',
})
const docs = join(import.meta.dirname, '../../docs')
const names = readdirSync(docs)
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -'.md'.length))
  .filter(isGuide)
writeFileSync(join(folder, 'reference.html'), referenceContent(document, names))
const guides = names.map((name) => ({ name, source: readFileSync(join(docs, `${name}.md`), 'utf8') }))
writeFileSync(join(folder, 'docs', ALL_GUIDES), allGuides(guides))
for (const guide of guides) {
  const { name } = guide
  writeFileSync(join(folder, 'docs', `${name}.html`), guideContent(guide, names))
  writeFileSync(join(folder, 'docs', `${name}.md`), guideSource(guide))
}
