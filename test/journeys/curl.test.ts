import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { CliUser, root } from './cli-user.ts'
import { httpGet, toUrl } from './http-get.ts'

const oneRequest = testedBlock('README.md')
const threeSteps = testedBlock('docs/publish.md')

const FILES = {
  'index.html': '<link rel="stylesheet" href="style.css"><h1>Ahoy</h1>',
  'style.css': 'h1 { color: teal }',
}

describe('the curl commands of README.md and docs/publish.md', requires('curl'), () => {
  it('publish a whole folder in one request', async () => {
    const files = { ...FILES, 'img/a b.png': randomBytes(300_000), 'data.json': '{' }
    await assertPublishes(oneRequest, files)
  })

  it('publish in three steps: create, upload, finalize', async () => {
    await assertPublishes(threeSteps, FILES)
  })
})

async function assertPublishes(line: string, files: Record<string, string | Buffer>): Promise<void> {
  await using service = await startTestService()
  using user = new CliUser(service.baseUrl)
  user.write(Object.fromEntries(Object.entries(files).map(([path, body]) => [`folder/${path}`, body])))
  const { code, stdout, stderr } = await user.shell(line.replaceAll('http://localhost:8080', service.baseUrl))
  assert.equal(code, 0, stderr)
  const last = JSON.parse(stdout.trim().split('\n').at(-1)!)
  assert.equal(last.success, true)
  for (const [path, body] of Object.entries(files)) {
    const { status, body: came } = await httpGet(toUrl(last.siteUrl, path))
    assert.ok(status === 200 && came.equals(Buffer.from(body)), path)
  }
  const visited = await user.shell(`curl -sS '${last.siteUrl}'`)
  assert.equal(visited.stdout, files['index.html'])
}

/** The block of shell commands after the mark in a document. */
function testedBlock(file: string): string {
  const [, ...marked] = readFileSync(join(root, file), 'utf8').split(
    '<!-- tested: test/journeys/curl.test.ts',
  )
  assert.equal(marked.length, 1, file)
  return marked[0]!.split(/^```(?:sh)?\n/m)[1]!
}
