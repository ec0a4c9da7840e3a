import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { replaceBlock, summary } from '../bench/page.ts'
import { mustHaveValue } from '../client/cli/command.ts'
import { COMMANDS } from '../client/cli/command-line.ts'
import { ADMIN_VIEWS } from '../dashboard/admin/views.ts'
import { search } from '../dashboard/docs/search.ts'
import { METADATA_FIELDS } from '../protocol/api/publish.ts'
import {
  MAX_COMMENT_LENGTH,
  MAX_DECISIONS,
  MAX_NOTE_LENGTH,
  MAX_REPLIES,
  MAX_REVIEW_LINKS,
  MAX_THREADS,
} from '../protocol/api/reviews.ts'
import { formatLimit, formatNumber } from '../protocol/format.ts'
import { errorEntries } from '../scripts/reference/errors.ts'
import { guideEntries, headingTitle, PAGE_NAMES, toAnchor } from '../scripts/reference/guides.ts'
import { describeSettings, readConfig } from '../server/config/settings.ts'
import { sweeps } from '../server/jobs/jobs.ts'
import { publishLimits } from '../server/services.ts'
import { run } from './operator/program.ts'
import { parseRules } from './support/parse-rules.ts'

const guide = (name: string) => readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8')

test('docs/settings.md and docs/limits.md list the settings with their defaults and descriptions, and no other', () => {
  const rows = describeSettings().map(({ name, defaultValue, description }) => {
    return `| \`${name}\` | ${defaultValue ? `\`${defaultValue}\`` : '–'} | ${description} |`
  })
  const listed = ['settings', 'limits'].flatMap((name) => tableRows(name, '| name | default | meaning |'))
  assert.deepEqual(listed.toSorted(), rows.toSorted())
})

test('docs/monitoring.md lists the sweeps with their intervals and descriptions, and no other', () => {
  const rows = sweeps.map(({ name, intervalSeconds, description }) => {
    return `| \`${name}\` | ${intervalSeconds} s | ${description} |`
  })
  assert.deepEqual(tableRows('monitoring', '| sweep | every | what it does |'), rows)
})

test('docs/performance.md begins with the figures of its measurements that have a target of the project', () => {
  const page = guide('performance')
  assert.equal(replaceBlock(page, 'summary', summary(page)), page)
})

test('docs/https.md names existing settings only', () => {
  const known = new Set(describeSettings().map(({ name }) => name))
  const named = new Set(guide('https').match(/SLIPWAY_[A-Z_]+[A-Z]/g))
  assert.ok(named.size > 10)
  for (const name of named) assert.ok(known.has(name), `${name} is no setting`)
})

test('docs/command.md lists every command', () => {
  const rows = guide('command')
    .split('\n')
    .filter((line) => line.startsWith('| `slipway'))
  for (const name of Object.keys(COMMANDS)) {
    const isDescribed = rows.some((row) => row.includes(`\`slipway ${name}`))
    assert.ok(isDescribed, `docs/command.md lacks slipway ${name}`)
  }
})

test('docs/operate.md lists the tabs of the administration, and no other', () => {
  const rows = tableRows('operate', '| tab | route below `/api/admin/` | shows |')
  const tabs = rows.flatMap((row) => row.split('|')[1]!.trim().split(', '))
  assert.deepEqual([...new Set(tabs)].sort(), Object.values(ADMIN_VIEWS).sort())
})

test('the guides have every command of slipway-server', async () => {
  const guides = globSync('docs/*.md').map((file) => readFileSync(file, 'utf8').replaceAll(/\s+/g, ' '))
  const { lines } = await run(['help'])
  const commands = lines.flatMap((line) => /^ {2}slipway-server ([a-z]+(?: [a-z]+)*)/.exec(line)?.[1] ?? [])
  assert.ok(commands.length > 20)
  for (const command of commands) {
    const named = [`slipway-server ${command}`, `\`${command} `, `\`${command}\``]
    assert.ok(
      guides.some((guide) => named.some((text) => guide.includes(text))),
      command,
    )
  }
})

test('the rules in docs/serving.md are valid', () => {
  const blocks = [...guide('serving').matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
  const [redirects, headers] = blocks.filter(([, language]) => language === '').map(([, , text]) => text)
  const { rules, warnings } = parseRules({ redirects, headers })
  assert.deepEqual(warnings, [])
  assert.deepEqual([rules?.redirects.length, rules?.headers.length], [7, 3])
})

test('docs/account.md has the default limits, with the names that errors and pages have for them', () => {
  const { anonymous, owned } = publishLimits(readConfig({}))
  const sizes = (name: 'fileBytes' | 'siteBytes') =>
    `${formatLimit(anonymous[name])} | ${formatLimit(owned[name])} |`
  const limits = [
    `| largest file | ${sizes('fileBytes')}`,
    `| largest site | ${sizes('siteBytes')}`,
    `| files in a site | ${formatNumber(anonymous.files)} | ${formatNumber(owned.files)} |`,
  ]
  for (const row of limits) assert.ok(guide('account').includes(`\n${row}\n`), row)
})

test('docs/http.md names each field that a publish can set', () => {
  const [, options] = guide('http').split('\n## Options\n')
  const sentence = options!.slice(0, options!.indexOf('which rejects'))
  for (const field of METADATA_FIELDS) assert.ok(sentence.includes(`\`${field}\``), field)
})

test('docs/command.md names the options whose value can be empty, and no other', async () => {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const options = commands.flatMap((command) => Object.entries(command.options))
  const names = new Set(options.filter(([, option]) => !mustHaveValue(option)).map(([name]) => `--${name}`))
  const [, sentence] = /is\s+invalid: only\s([^.]*?)\scan be empty/.exec(guide('command'))!
  assert.deepEqual([...sentence!.matchAll(/--[a-z-]+/g)].flat().toSorted(), [...names].toSorted())
})

test('docs/review.md has the limits of a review', () => {
  const limits = guide('review').split('## Limits')[1]!.replaceAll(/\s+/g, ' ')
  for (const [limit, unit] of [
    [MAX_COMMENT_LENGTH, 'characters, a thread'],
    [MAX_REPLIES, 'replies'],
    [MAX_REVIEW_LINKS, 'links'],
    [MAX_THREADS, 'threads'],
    [MAX_NOTE_LENGTH, 'characters. A review'],
    [MAX_DECISIONS, 'decisions'],
  ] as const)
    assert.ok(limits.includes(` ${formatNumber(limit)} ${unit}`), `${limit} ${unit}`)
})

/** The rows of the tables of a guide with this header. */
function tableRows(name: string, header: string): string[] {
  const tables = guide(name).split(`${header}\n`).slice(1)
  return tables.flatMap((text) => text.split('\n\n', 1)[0]!.trim().split('\n').slice(1))
}

test('links between documents lead to a file and a heading', () => {
  const root = join(import.meta.dirname, '..')
  const files = globSync(['docs/**/*.md', '*.md', 'deploy/*.md', 'client/README.md'], { cwd: root })
  const read = (file: string) => readFileSync(join(root, file), 'utf8').replaceAll(/```[\s\S]*?```/g, '')
  const wrong = files.flatMap((file) =>
    [...read(file).matchAll(/\]\((?![a-z]+:|\/)([^)\s#]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, path = '', anchor]) => {
        const target = path ? join(dirname(file), path) : file
        if (!anchor || !existsSync(join(root, target))) return !existsSync(join(root, target))
        const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
          toAnchor(headingTitle(title!)),
        )
        return !headings.includes(anchor)
      })
      .map(([link]) => `${file}: ${link}`),
  )
  assert.deepEqual(wrong, [])
})

test('a link whose text is the name of a document leads there, and none leads to the page that it is on', () => {
  const wrong = globSync('docs/*.md').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\[([^\]]*)\]\(([\w./-]+\.md)(?:#[\w-]*)?\)/g)]
      .filter(([, text = '', path = '']) => {
        const isOther = /^[\w-]+\.md$/.test(text) && basename(path) !== text
        return isOther || join('docs', path) === file
      })
      .map(([link]) => `${file}: ${link}`),
  )
  assert.deepEqual(wrong, [])
})

test('the commands in CONTRIBUTING.md that run one test name one that exists', () => {
  const text = readFileSync(new URL('../CONTRIBUTING.md', import.meta.url), 'utf8')
  const commands = [...text.matchAll(/^npm test -- (\S+) --name '([^']+)'/gm)]
  assert.ok(commands.length > 0)
  for (const [command, path, title] of commands) {
    const files = globSync(`test/**/*${path}*`).map((file) => readFileSync(file, 'utf8'))
    const exists = files.some((file) => file.includes(`${title}'`))
    assert.ok(exists, command)
  }
})

test('a search of the docs finds the guide of a task first, and an error by its code', () => {
  const entries = [
    ...PAGE_NAMES.filter((name) => existsSync(new URL(`../docs/${name}.md`, import.meta.url))).flatMap(
      (name) => guideEntries({ name, source: guide(name) }),
    ),
    ...errorEntries(),
  ]
  const first = (text: string) => search(entries, text).map(({ page, id }) => `${page}#${id}`)[0]
  const searches = {
    'custom domain': 'domains#',
    domains: 'domains#',
    password: 'serving#passwords',
    expire: 'sites#expiry',
    'delete site': 'sites#deleting-and-restoring',
    'how do I delete my account': 'account#deleting-your-account',
    'undo an update': 'versions#undo-an-update',
    'invite a colleague': 'sites#collaborators',
    'single page app': 'frameworks#single-page-apps',
    spa: 'frameworks#',
    ci: 'ci#',
    quota: 'plans#plans-and-quotas',
    RATE_LIMITED: 'errors#RATE_LIMITED',
    domain_taken: 'errors#DOMAIN_TAKEN',
    PAYLOAD_TOO: 'errors#PAYLOAD_TOO_LARGE',
  }
  const found = Object.fromEntries(Object.keys(searches).map((text) => [text, first(text)]))
  assert.deepEqual(found, searches)
})
