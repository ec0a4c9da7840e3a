import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ApiOptions, buildApi } from '../../server/api/app.ts'
import { referenceContent } from './reference.ts'

// `node scripts/reference/main.ts FOLDER` writes the content of /docs into FOLDER/reference.html. The service
// fills in its URL and its version.

const folder = process.argv[2]!
// The routes alone determine the document: no handler is called.
const api = await buildApi({ baseUrl: 'http://localhost', version: '{version}' } as ApiOptions)
const document = { ...api.swagger(), servers: [{ url: '{base_url}' }] }
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'reference.html'), referenceContent(document))
