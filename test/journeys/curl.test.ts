import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startTestService } from '../service.ts'
import { requires } from '../tools/part.ts'
import { CliUser, root } from './person.ts'
import { served, toUrl } from './served.ts'

/** What the README says to type, in the order in which it stands there. */
const [oneRequest, threeSteps, ...more] = blocksAfter('<!-- tested: test/journeys/curl.test.ts')

const FILES = {
  'index.html': '<link rel="stylesheet" href="style.css"><h1>Ahoy</h1>',
  'style.css': 'h1 { color: teal }',
}

describe('what the README says to type with curl', requires('curl'), () => {
  it('publishes a whole folder in one request', async () => {
    const files = { ...FILES, 'img/a b.png': randomBytes(300_000), 'data.json': '{' }
    await assertPublishes(oneRequest, files)
  })

  it('publishes in three steps: create, upload each, finalize', async () => {
    await assertPublishes(threeSteps, FILES)
  })

  it('is all tested', () => {
    assert.deepEqual(more, [])
  })
})

async function assertPublishes(
  line: string | undefined,
  files: Record<string, string | Buffer>,
): Promise<void> {
  await using service = await startTestService()
  using person = new CliUser(service.baseUrl)
  person.write(Object.fromEntries(Object.entries(files).map(([path, body]) => [`folder/${path}`, body])))
  const { code, stdout, stderr } = await person.shell(
    line!.replaceAll('http://localhost:8080', service.baseUrl),
  )
  assert.equal(code, 0, stderr)
  const last = JSON.parse(stdout.trim().split('\n').at(-1)!)
  assert.equal(last.success, true)
  for (const [path, body] of Object.entries(files)) {
    const { status, body: came } = await served(toUrl(last.siteUrl, path))
    assert.ok(status === 200 && came.equals(Buffer.from(body)), path)
  }
  const visited = await person.shell(`curl -sS '${last.siteUrl}'`)
  assert.equal(visited.stdout, files['index.html'])
}

/** The blocks of shell commands in the README, from a mark to the end of its section. */
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
