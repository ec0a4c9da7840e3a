import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_BRANDING } from '../../protocol/branding.ts'
import { openApiDocument } from '../../server/api/openapi.ts'
import { routes } from '../../server/api/routes.ts'
import { readConfig } from '../../server/config/settings.ts'
import type { Services } from '../../server/services.ts'
import { errorEntries, errorsContent, errorsSource } from './errors.ts'
import { guideContent, guideEntries, guideSource, PAGE_NAMES } from './guides.ts'
import { overviewContent } from './overview.ts'
import { referenceContent, referenceEntries } from './reference.ts'

// `node scripts/reference/main.ts FOLDER` writes the contents of the pages of /docs into FOLDER/docs, as HTML and as
// Markdown, with the index of their search and a file of all guides. The service fills in its URL and its version.

const folder = join(process.argv[2]!, 'docs')
// The routes and the default limits determine the document: no handler is called.
const pendingVersions = { maxFiles: readConfig({}).ownedFiles }
const table = routes({ baseUrl: 'http://localhost', pendingVersions } as Services)
const document = openApiDocument(table, {
  baseUrl: '{base_url}',
  branding: DEFAULT_BRANDING,
  version: '{version}',
})
/** The documents of the repository, and those that are generated. */
const sources = join(import.meta.dirname, '../../docs')
const guides = PAGE_NAMES.filter((name) => existsSync(join(sources, `${name}.md`))).map((name) => ({
  name,
  source: readFileSync(join(sources, `${name}.md`), 'utf8'),
}))
const entries = [...guides.flatMap(guideEntries), ...errorEntries(), ...referenceEntries(document)]
const files: Record<string, string> = {
  'index.html': overviewContent(),
  'api.html': referenceContent(document),
  'errors.html': errorsContent(),
  'errors.md': errorsSource(),
  'search.json': JSON.stringify(entries),
  'llms-full.txt': guides.map((guide) => guideSource(guide).trim()).join('\n\n---\n\n'),
}
for (const guide of guides) {
  files[`${guide.name}.html`] = guideContent(guide)
  files[`${guide.name}.md`] = guideSource(guide)
}
mkdirSync(folder, { recursive: true })
for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
