import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { npxCommand } from '../../protocol/client-package.ts'
import { getUrl, sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { startForAllTests } from '../support/started-fixture.ts'
import { ALL_VARIANTS, testVariant } from '../support/variants.ts'

const ROOT = join(import.meta.dirname, '../..')

// The client as a user gets it: from a running service with npm, without any other server.

describe('the client of a service', () => {
  const service = startForAllTests(() => startTestService())

  describe('the package', () => {
    it('publishes with npx, as the front page says, to the server it came from, in an empty folder on a new machine', async () => {
      using machine = new Machine()
      machine.write('folder/index.html', '<h1>Ahoy</h1>')
      const front = await sendRequest(service.port, { path: '/' })
      assert.ok(front.text.includes(`<code>${npxCommand(service.baseUrl)} publish ./folder</code>`))
      const { code, stdout, stderr } = await machine.shell(`${npxCommand(service.baseUrl)} publish ./folder`)
      assert.equal(code, 0, stderr)
      assert.equal((await getUrl(stdout.trim())).text, '<h1>Ahoy</h1>')
      assert.ok(stderr.includes(`Keep it: npx ${service.baseUrl}/cli.tgz claim`), stderr)
    })

    it('contains the SDK: the example of docs/publish.md publishes', async () => {
      using machine = new Machine()
      const docs = readFileSync(join(ROOT, 'docs/publish.md'), 'utf8')
      const [, install = ''] = /^```sh\n(npm install http.*)\n```$/m.exec(docs) ?? []
      const [, setUp = ''] = /^```js\n(import \{ Slipway \}[\s\S]*?new Slipway.*\n)/m.exec(docs) ?? []
      const [, publish = ''] = /^```ts\n(const page = [\s\S]*?)^```$/m.exec(docs) ?? []
      const example = setUp + publish
      const here = (text: string) => text.replaceAll('http://localhost:8080', service.baseUrl)
      machine.write('example.mjs', `${here(example)}\nconsole.log(siteUrl)\n`)
      const [, address = '', name = ''] =
        /^npm install (\S+)[\s\S]*? from '(.+)'$/m.exec(`${install}\n${example}`) ?? []
      assert.ok(address.endsWith('/cli.tgz'), install)
      // As npm does in the test above, whose start takes seconds of CPU time.
      const archive = await machine.download(service, new URL(here(address)).pathname)
      const unpack = `mkdir -p node_modules/${name} && tar -xzf ${archive} -C node_modules/${name} --strip-components=1`
      const installed = ALL_VARIANTS ? here(install) : unpack
      const { code, stdout, stderr } = await machine.shell(`${installed} >&2 && node example.mjs`)
      assert.equal(code, 0, stderr)
      assert.equal((await getUrl(stdout.trim())).text, '<h1>Hello</h1>')
    })

    it('has every type that its types refer to: the examples of its README compile with strict types', async () => {
      using machine = new Machine()
      const archive = await machine.download(service, '/cli.tgz')
      const readme = readFileSync(join(ROOT, 'client/README.md'), 'utf8')
      const examples = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code)
      assert.equal(examples.length, 3)
      for (const [at, code] of examples.entries()) machine.write(`${at}.mts`, code)
      const options = `--noEmit --strict --skipLibCheck false --module nodenext --target es2023 --types node`
      const types = `--typeRoots ${ROOT}/node_modules/@types`
      const { code, stdout } = await machine.shell(
        `mkdir -p node_modules/slipway && tar -xzf ${archive} -C node_modules/slipway --strip-components=1 &&
        ${process.execPath} ${ROOT}/node_modules/typescript/bin/tsc ${options} ${types} *.mts`,
      )
      assert.deepEqual([code, stdout], [0, ''])
    })
  })

  describe('/cli.tgz and /install.sh', () => {
    for (const [path, type] of [
      ['/cli.tgz', 'application/gzip'],
      ['/install.sh', 'text/x-shellscript; charset=utf-8'],
      ['/publish.sh', 'text/x-shellscript; charset=utf-8'],
    ] as const) {
      it(`${path} is revalidated by etag, and answers HEAD`, async () => {
        const { status, headers, body } = await sendRequest(service.port, { path })
        assert.deepEqual([status, headers['content-type'], headers['cache-control']], [200, type, 'no-cache'])
        assert.equal(Number(headers['content-length']), body.length)
        const { etag = '' } = headers
        assert.match(etag, /^"\w+"$/)
        const head = await sendRequest(service.port, { path, method: 'HEAD' })
        assert.deepEqual(
          [head.status, head.headers.etag, head.headers['content-length'], head.body.length],
          [200, etag, String(body.length), 0],
        )
        const known = await sendRequest(service.port, { path, headers: { 'If-None-Match': etag } })
        assert.deepEqual([known.status, known.headers.etag, known.body.length], [304, etag, 0])
      })
    }

    it('are the same from every process of a server, and name it', async () => {
      await using one = await startTestService({ BASE_URL: 'https://slipway.example' })
      await using two = await startTestService({ BASE_URL: 'https://slipway.example' })
      for (const path of ['/cli.tgz', '/install.sh', '/publish.sh']) {
        const [first, second, other] = await Promise.all(
          [one, two, service].map(async ({ port }) => (await sendRequest(port, { path })).headers.etag),
        )
        assert.equal(first, second)
        assert.notEqual(first, other)
      }
    })
  })

  describe('install.sh', () => {
    it('installs below $HOME/.local without permission for the global folder', async () => {
      using machine = new Machine()
      machine.env.npm_config_prefix = '/dev/null/global'
      const script = await machine.download(service, '/install.sh')
      const first = await machine.shell(`sh ${script}`)
      assert.equal(first.code, 0, first.stderr)
      const bin = join(machine.home, '.local/bin')
      assert.ok(first.stdout.includes(`export PATH="${bin}:$PATH"`), first.stdout)
      machine.env.PATH = `${bin}:${process.env.PATH}`
      const installed = await machine.shell('slipway --version')
      assert.match(installed.stdout, /^\d+\.\d+\.\d+\n$/)
      if (!ALL_VARIANTS) return
      const again = await machine.shell(`sh ${script}`)
      assert.equal(again.code, 0, again.stderr)
      assert.match(again.stdout, /^Publish a folder: slipway publish \.\/folder$/m)
      assert.doesNotMatch(again.stdout, /export PATH/)
    })

    it('installs there also where only the folder of commands cannot be written', async () => {
      using machine = new Machine()
      const prefix = join(machine.home, 'global')
      mkdirSync(join(prefix, 'lib/node_modules'), { recursive: true })
      writeFileSync(join(prefix, 'bin'), '')
      const npm = `[ "$1" = prefix ] && echo '${prefix}' || printf '%s\\n' "$@"`
      machine.usePrograms({ node: 'echo 22.1.0', npm })
      const { code, stdout, stderr } = await machine.shell(
        `. ${await machine.download(service, '/install.sh')}`,
      )
      assert.equal(code, 0, stderr)
      assert.ok(stdout.includes(`\n--prefix\n${join(machine.home, '.local')}\n`), stdout)
    })

    testVariant('installs into the global folder with permission', async () => {
      using machine = new Machine()
      const prefix = join(machine.home, 'global')
      machine.env.npm_config_prefix = prefix
      const { code, stderr } = await machine.shell(`sh ${await machine.download(service, '/install.sh')}`)
      assert.equal(code, 0, stderr)
      assert.deepEqual(readdirSync(join(prefix, 'bin')), ['slipway'])
    })

    for (const [name, programs, message] of [
      ['Node.js', {}, /^slipway: Node\.js is not installed\./],
      [
        'a Node.js of this decade',
        { node: 'echo 16.20.2', npm: 'exit 9' },
        /^slipway: Node\.js 16\.20\.2 is too old\./,
      ],
      [
        'a recent Node.js 18',
        { node: 'echo 18.17.1', npm: 'exit 9' },
        /^slipway: Node\.js 18\.17\.1 is too old\./,
      ],
      ['npm', { node: 'echo 18.18.0' }, /^slipway: npm is not installed\./],
    ] as const) {
      it(`fails with a message without ${name}`, async () => {
        using machine = new Machine()
        machine.usePrograms(programs)
        const { code, stderr } = await machine.shell(`. ${await machine.download(service, '/install.sh')}`)
        assert.equal(code, 1)
        assert.match(stderr, message)
      })
    }
  })

  for (const baseUrl of ['http://[::1]:8080', "http://it's-$(id)-`id`;id&.localhost"]) {
    it(`a base URL ${baseUrl} is passed on as it is, and not evaluated by the shell`, async () => {
      await using odd = await startTestService({ BASE_URL: baseUrl })
      const { origin } = new URL(baseUrl)
      const { body } = await sendRequest(odd.port, { path: '/cli.tgz' })
      assert.ok(gunzipSync(body).includes(`\0${JSON.stringify({ server: origin })}\0`))
      using machine = new Machine()
      machine.usePrograms({ node: 'echo 22.1.0', npm: `printf '%s\\n' "$@"`, npx: `printf '%s\\n' "$@"` })
      const installed = await machine.shell(`. ${await machine.download(odd, '/install.sh')}`)
      assert.equal(installed.code, 0, installed.stderr)
      assert.ok(installed.stdout.includes(`\n${origin}/cli.tgz\n`), installed.stdout)
      const run = await machine.shell(`${npxCommand(origin)} publish`)
      assert.equal(run.stdout, `${origin}/cli.tgz\npublish\n`)
      assert.deepEqual(readdirSync(machine.folder), ['install.sh'])
    })
  }
})

/** A user's machine: a working folder, a home folder and an npm without a registry. */
class Machine implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'slipway-user-'))
  readonly home: string = mkdtempSync(join(tmpdir(), 'slipway-home-'))
  readonly env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: this.home,
    npm_config_cache: join(this.home, 'npm-cache'),
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_update_notifier: 'false',
  }

  write(path: string, content: string | Buffer): void {
    mkdirSync(join(this.folder, path, '..'), { recursive: true })
    writeFileSync(join(this.folder, path), content)
  }

  /** Writes a path of a service into a file; returns the file. */
  async download({ port }: RunningService, path: string): Promise<string> {
    const { body } = await sendRequest(port, { path })
    this.write(path, body)
    return `.${path}`
  }

  /** Replaces PATH by a folder with these shell scripts only. */
  usePrograms(scripts: Record<string, string>): void {
    this.env.PATH = join(this.home, 'programs')
    mkdirSync(this.env.PATH)
    for (const [name, script] of Object.entries(scripts)) {
      const file = join(this.env.PATH, name)
      writeFileSync(file, `#!/bin/sh\n${script}\n`)
      chmodSync(file, 0o755)
    }
  }

  shell(line: string) {
    const { promise, resolve } = Promise.withResolvers<{
      code: number | null
      stdout: string
      stderr: string
    }>()
    const child = execFile(
      '/bin/sh',
      ['-c', line],
      { cwd: this.folder, env: this.env },
      (_, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    )
    return promise
  }

  [Symbol.dispose](): void {
    for (const folder of [this.folder, this.home]) rmSync(folder, { recursive: true, force: true })
  }
}
