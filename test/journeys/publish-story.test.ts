import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { CliHarness } from '../cli/cli-harness.ts'
import { Agent } from '../mcp/agent.ts'
import { getUrl } from '../support/http-client.ts'
import { startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { requires } from '../tools/part.ts'

const run = promisify(execFile)

const PAGE = (text: string) => `<!doctype html><title>Marlow Street Bakery</title><p>${text}`
const FILES = { 'site/index.html': PAGE('one'), 'site/.env': 'KEY=1', 'site/css/.DS_Store': 'x' }

/** Publishes the folder `site`, and returns all that its user reads. */
type Way = (user: CliHarness, baseUrl: string) => Promise<string>

const shell = async (user: CliHarness, line: string) => {
  const { stdout, stderr } = await run('sh', ['-c', line], { cwd: user.cwd })
  return stdout + stderr
}

/** Each way to publish, and how its user follows the hint to update the site. */
const WAYS: Record<string, { publish: Way; update: (hint: string) => Way }> = {
  'the command': {
    publish: async (user, baseUrl) => {
      const { stdout, stderr } = await user.run(['publish', 'site', '--server', baseUrl])
      return stdout + stderr
    },
    update: (hint) => async (user) => (await user.run(hint.split(' ').slice(1))).stderr,
  },
  'publish.sh': {
    publish: (user, baseUrl) => shell(user, `curl -fsSL ${baseUrl}/publish.sh | sh -s site`),
    update: (hint) => (user) => shell(user, hint.replace('FOLDER', 'site')),
  },
  'curl -T': {
    publish: (user, baseUrl) => shell(user, `tar -czf site.tgz site && curl -sST site.tgz ${baseUrl}`),
    update: (hint) => (user) => shell(user, `tar -czf site.tgz site && ${hint}`),
  },
  'the tool publish_site': {
    publish: async (_, baseUrl) => {
      await using agent = await Agent.connect(baseUrl)
      const files = Object.entries(FILES).map(([path, content]) => {
        return { path: path.slice('site/'.length), content }
      })
      const { siteUrl, summary } = await agent.call('publish_site', { files })
      return `${siteUrl}\n${summary}`
    },
    update: (hint) => async (_, baseUrl) => {
      assert.match(hint, /^publish_site with slug \S+ and this claimToken$/, baseUrl)
      return ''
    },
  },
}

describe('a publish without an account reports the same facts', requires('curl'), () => {
  const service = startForAllTests(() => startTestService())

  for (const [name, { publish, update }] of Object.entries(WAYS)) {
    it(`by ${name}`, async () => {
      using user = new CliHarness()
      user.now = service.clock.now
      user.write(FILES)
      const text = await publish(user, service.baseUrl)
      const url = /^http:\/\/[\w-]+\.localhost:\d+\/$/m.exec(text)?.[0]
      assert.ok(url, text)
      assert.equal((await getUrl(url)).text, PAGE('one'))
      assert.match(text, /^Title: Marlow Street Bakery$/m)
      assert.match(text, /\.env \((hidden|secret)\)/)
      assert.match(text, /css\/\.DS_Store \(system file\)/)
      assert.match(text, /^Available name: marlow-street-bakery$/m)
      assert.match(text, /^Expires: (in 24 hours|\d{4}-\d\d-\d\d \d\d:\d\d UTC)/m)
      const [, claimUrl = ''] = /^Keep it: .*?(http\S+\/claim\?slug=\S+)$/m.exec(text) ?? []
      assert.equal(new URL(claimUrl).searchParams.get('slug'), new URL(url).host.split('.')[0], text)
      const [, hint = ''] = /^Update it: (.+)$/m.exec(text) ?? []
      service.clock.now += 60_000
      user.write({ 'site/index.html': PAGE('two') })
      if ((await update(hint)(user, service.baseUrl)) !== '')
        assert.equal((await getUrl(url)).text, PAGE('two'), hint)
    })
  }
})
