import { appendFileSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { posix } from 'node:path'
import { downloadClient } from './client.mjs'
import { updateComment } from './comment.mjs'
import { repeat, request } from './request.mjs'

const { env } = process

/** Publishes the folder, or deletes the preview of a closed pull request. */
async function run() {
  // Since Node 24.14.
  http.setGlobalProxyFromEnv?.()
  const server = requireInput('server').replace(/\/+$/, '')
  const site = requireInput('site')
  const strict = readBoolean('fail-on-warning')
  const event = env.GITHUB_EVENT_PATH ? JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8')) : {}
  const isClosed = event.pull_request !== undefined && event.action === 'closed'
  // Empty where an expression of the workflow has no value: that does not mean the repository.
  const folder = isClosed ? '' : requireInput('folder')
  const number = event.pull_request?.number
  const preview = input('preview') || previewName(event)
  const client = await downloadClient(server, {
    folder: env.RUNNER_TEMP,
    sha256: input('client-sha256'),
  })
  const slipway = await signIn(client, server, site)
  if (isClosed) {
    await deletePreview(slipway, preview)
    await comment(number, site, `The preview \`${preview}\` was deleted.`)
    return
  }
  const options = [...(preview === '' ? [] : ['--preview', preview]), ...(strict ? ['--strict'] : [])]
  const published = await slipway('publish', folder, '--replace', ...options)
  const review = preview === '' ? undefined : await readReview(slipway, preview)
  const text = describe(published, preview, { event, review })
  for (const { file, line, message } of published.warnings ?? [])
    command('warning', message, { file: posix.join(folder, file), line })
  output('url', published.siteUrl)
  output('version', published.versionId)
  output('preview-url', published.preview?.url ?? '')
  append('GITHUB_STEP_SUMMARY', text)
  if (number !== undefined) await comment(number, site, text)
}

/** That of a pull request, also in a merge queue, whose branch has its number; empty for the live version. */
function previewName({ pull_request: pull, merge_group: group }) {
  const number = pull?.number ?? /\/pr-(\d+)-[^/]+$/.exec(group?.head_ref ?? '')?.[1]
  return number === undefined ? '' : `pr-${number}`
}

/** The client with a key for the site. A token can be used once, so that each attempt requests one. */
async function signIn(client, server, site) {
  const { apiKey } = await repeat(
    async () =>
      client(['trust', 'exchange', '--site', site], { SLIPWAY_ID_TOKEN: await requestToken(server) }),
    ({ code }) => code === 'NETWORK' || code === 'UNAVAILABLE',
  )
  mask(apiKey)
  return (...args) => client([...args, '--site', site], { SLIPWAY_KEY: apiKey })
}

/** The token of the job (OpenID Connect), whose audience is the server. */
async function requestToken(server) {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env
  if (!address || !bearer)
    throw new Error('The job has no token. Add "permissions: id-token: write". Jobs of forks have none.')
  const url = new URL(address)
  url.searchParams.set('audience', server)
  const response = await request(url, { headers: { authorization: `Bearer ${bearer}` } })
  const { value } = await response.json()
  mask(value)
  return value
}

/** Of the preview; undefined when it cannot be read, which does not fail the job. */
async function readReview(slipway, preview) {
  return slipway('feedback', '--preview', preview).catch(() => undefined)
}

async function deletePreview(slipway, name) {
  try {
    await slipway('previews', 'delete', name)
  } catch (error) {
    if (error.code !== 'REFUSED' && error.code !== 'NOT_FOUND') throw error
  }
}

/** A comment that cannot be written does not fail the job. */
async function comment(number, site, text) {
  try {
    await updateComment({
      api: env.GITHUB_API_URL,
      repository: env.GITHUB_REPOSITORY,
      token: input('token'),
      number,
      site,
      text,
    })
  } catch (error) {
    command('warning', `The comment on the pull request was not written: ${error.message}`)
  }
}

/** Markdown for the summary and the comment. */
function describe(
  { siteUrl, preview, files, bytes, unchanged, changes, warnings = [] },
  name,
  { event, review },
) {
  const counts =
    changes && !unchanged ? Object.entries(changes).map(([kind, count]) => `${count} ${kind}`) : []
  // The commit of a pull request is not that of the job, which merges it.
  const commit = event.pull_request?.head?.sha ?? env.GITHUB_SHA ?? ''
  const run = `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}`
  const rows = [
    ['Address', escapeMarkdown(preview?.url ?? siteUrl)],
    ['Files', `${files} (${bytes} bytes)`],
    ['Changes', unchanged ? 'none' : escapeMarkdown(counts.join(', '))],
    ['Review', review ? describeReview(review) : ''],
    ['Commit', commit.slice(0, 7)],
    ['Job', env.GITHUB_RUN_ID ? `[run ${env.GITHUB_RUN_NUMBER}](${run})` : ''],
  ].filter(([, value]) => value !== '')
  const table = ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)]
  const notes = warnings.map(({ file, line, message }) => {
    const place = line === undefined ? file : `${file}:${line}`
    return `- ${escapeMarkdown(place)}: ${escapeMarkdown(message)}`
  })
  return [preview ? `Preview \`${name}\`` : 'Published', '', ...table, '', ...notes].join('\n')
}

/** Empty without comments and without a decision about this version. */
function describeReview({ decision, counts: { open, outdated } }) {
  const decided = { approved: 'approved', 'changes-requested': 'changes requested' }[decision]
  const left = open + outdated
  return [decided, left > 0 && `${left} open comment${left === 1 ? '' : 's'}`].filter(Boolean).join(', ')
}

/** Plain text in Markdown. */
function escapeMarkdown(text) {
  return oneLine(text).replace(/[\\`*_[\]<>|#@]/g, '\\$&')
}

function input(name) {
  return (env[`INPUT_${name.toUpperCase()}`] ?? '').trim()
}

function requireInput(name) {
  const value = input(name)
  if (value === '') throw new Error(`The input ${name} is required`)
  return value
}

/** As the runner reads booleans: the core schema of YAML 1.2. */
function readBoolean(name) {
  const value = input(name)
  if (['true', 'True', 'TRUE'].includes(value)) return true
  if (['', 'false', 'False', 'FALSE'].includes(value)) return false
  throw new Error(`The input ${name} must be true or false`)
}

/** Texts of the server, whose lines would be outputs as well. */
function output(name, value) {
  append('GITHUB_OUTPUT', `${name}=${oneLine(value)}`)
}

function oneLine(text) {
  return String(text).replace(/[\r\n]+/g, ' ')
}

function append(variable, lines) {
  if (env[variable]) appendFileSync(env[variable], `${lines}\n`)
}

/** A command of the runner, whose values are one line. */
function command(name, text, properties = {}) {
  const given = Object.entries(properties).filter(([, value]) => value !== undefined)
  const list = given.map(([key, value]) => `${key}=${escapeCommand(String(value), /[%\r\n:,]/g)}`)
  process.stdout.write(`::${[name, list.join(',')].join(' ').trim()}::${escapeCommand(text, /[%\r\n]/g)}\n`)
}

/** Percent-encodes what would end a value. */
function escapeCommand(text, ending) {
  return text.replace(ending, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

function mask(secret) {
  command('add-mask', secret)
}

run().catch((error) => {
  command('error', error.message)
  process.exitCode = 1
})
