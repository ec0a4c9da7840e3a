import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { CliHarness } from '../cli/cli-harness.ts'
import { getUrl } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { requires } from '../tools/part.ts'

const run = promisify(execFile)

describe('the curl commands of README.md and docs/http.md', requires('curl'), () => {
  const service = startForAllTests(() => startTestService())

  const page = '<link rel="stylesheet" href="style.css"><h1>Ahoy</h1>'
  const site = { 'index.html': page, 'style.css': 'h1 { color: teal }' }
  const large = { 'img/a b.png': randomBytes(300_000), 'data.json': '{}' }
  for (const [sentence, document, files] of [
    ['publish a whole folder in one request', 'README.md', { ...site, ...large }],
    ['publish in three steps: create, upload, finalize', 'docs/http.md', site],
  ] as const) {
    it(sentence, async () => {
      using user = new CliHarness()
      user.write(Object.fromEntries(Object.entries(files).map(([path, body]) => [`folder/${path}`, body])))
      const line = testedBlock(document).replaceAll('http://localhost:8080', service.baseUrl)
      const { stdout } = await run('sh', ['-c', line], { cwd: user.cwd })
      const { success, siteUrl } = JSON.parse(stdout.trim().split('\n').at(-1)!)
      assert.equal(success, true)
      for (const [path, body] of Object.entries(files)) {
        const response = await getUrl(siteUrl + path.split('/').map(encodeURIComponent).join('/'))
        assert.ok(response.status === 200 && response.body.equals(Buffer.from(body)), path)
      }
      assert.equal((await run('curl', ['-sS', siteUrl])).stdout, page)
    })
  }
})

/** The block of shell commands after the mark in a document. */
function testedBlock(file: string): string {
  const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
  const [, ...marked] = text.split('<!-- tested: test/journeys/curl.test.ts')
  assert.equal(marked.length, 1, file)
  return marked[0]!.split(/^```(?:sh)?\n/m)[1]!
}
