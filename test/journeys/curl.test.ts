import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startTestService } from '../support/service.ts'
import { requires } from '../tools/part.ts'
import { CliUser, root } from './cli-user.ts'
import { httpGet, toUrl } from './http-get.ts'

/** The shell commands of the README, in their order. */
const [oneRequest, threeSteps, ...more] = blocksAfter('<!-- tested: test/journeys/curl.test.ts')

const FILES = {
  'index.html': '<link rel="stylesheet" href="style.css"><h1>Ahoy</h1>',
  'style.css': 'h1 { color: teal }',
}

describe('the curl commands of the README', requires('curl'), () => {
  it('publish a whole folder in one request', async () => {
    const files = { ...FILES, 'img/a b.png': randomBytes(300_000), 'data.json': '{' }
    await assertPublishes(oneRequest, files)
  })

  it('publish in three steps: create, upload, finalize', async () => {
    await assertPublishes(threeSteps, FILES)
  })

  it('are all tested', () => {
    assert.deepEqual(more, [])
  })
})

async function assertPublishes(
  line: string | undefined,
  files: Record<string, string | Buffer>,
): Promise<void> {
  await using service = await startTestService()
  using user = new CliUser(service.baseUrl)
  user.write(Object.fromEntries(Object.entries(files).map(([path, body]) => [`folder/${path}`, body])))
  const { code, stdout, stderr } = await user.shell(
    line!.replaceAll('http://localhost:8080', service.baseUrl),
  )
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

/** The blocks of shell commands in the README, from a marker to the end of its section. */
function blocksAfter(mark: string): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const from = readme.indexOf(mark)
  assert.notEqual(from, -1, `README.md has ${mark}`)
  const [text, ...blocks] = readme.slice(from).split(/^```(?:sh)?\n/m)
  const section = [text!]
  for (const part of blocks) {
    const isText = section.length % 2 === 0
    section.push(part)
    if (isText && /^#/m.test(part)) break
  }
  return section.filter((_, at) => at % 2 === 1)
}
