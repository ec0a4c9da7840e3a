import { appendFileSync, readFileSync } from 'node:fs'
import { downloadClient } from './client.mjs'
import { updateComment } from './comment.mjs'

const { env } = process

/** Publishes the folder, or deletes the preview of a closed pull request. */
async function run() {
  const server = requireInput('server').replace(/\/+$/, '')
  const site = requireInput('site')
  const event = env.GITHUB_EVENT_PATH ? JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8')) : {}
  const number = event.pull_request?.number
  const preview = input('preview') || (number === undefined ? '' : `pr-${number}`)
  const client = await downloadClient(server, env.RUNNER_TEMP)
  const token = await requestToken(server)
  const { apiKey } = client(['trust', 'exchange', '--site', site], { SLIPWAY_ID_TOKEN: token })
  mask(apiKey)
  const slipway = (...args) => client([...args, '--site', site], { SLIPWAY_KEY: apiKey })
  if (number !== undefined && event.action === 'closed') {
    deletePreview(slipway, preview)
    await comment(number, site, `The preview \`${preview}\` was deleted.`)
    return
  }
  const options = [
    ...(preview === '' ? [] : ['--preview', preview]),
    ...(input('fail-on-warning') === 'true' ? ['--strict'] : []),
  ]
  const published = slipway('publish', input('folder') || '.', '--replace', ...options)
  const text = describe(published)
  append('GITHUB_OUTPUT', `url=${published.siteUrl}\nversion=${published.versionId}`)
  append('GITHUB_OUTPUT', `preview-url=${published.preview?.url ?? ''}`)
  append('GITHUB_STEP_SUMMARY', text)
  if (number !== undefined) await comment(number, site, text)
}

/** The token of the job (OpenID Connect), whose audience is the server. */
async function requestToken(server) {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = env
  if (!address || !bearer)
    throw new Error('The job has no token. Add "permissions: id-token: write". Jobs of forks have none.')
  const url = new URL(address)
  url.searchParams.set('audience', server)
  const response = await fetch(url, { headers: { authorization: `Bearer ${bearer}` } })
  if (!response.ok) throw new Error(`GitHub refused to issue a token: ${response.status}`)
  const { value } = await response.json()
  mask(value)
  return value
}

function deletePreview(slipway, name) {
  try {
    slipway('previews', 'delete', name)
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
function describe({ siteUrl, preview, files, bytes, unchanged, changes, warnings = [] }) {
  const counts =
    changes && !unchanged ? Object.entries(changes).map(([kind, count]) => `${count} ${kind}`) : []
  const rows = [
    ['Address', preview?.url ?? siteUrl],
    ['Files', `${files} (${bytes} bytes)`],
    ['Changes', unchanged ? 'none' : counts.join(', ')],
  ].filter(([, value]) => value !== '')
  const table = ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)]
  const notes = warnings.map((warning) => `- ${escapeMarkdown(warning.message ?? String(warning))}`)
  return [preview ? `Preview \`${preview.name}\`` : 'Published', '', ...table, '', ...notes].join('\n')
}

/** Plain text in Markdown. */
function escapeMarkdown(text) {
  return text.replace(/[\r\n]+/g, ' ').replace(/[\\`*_[\]<>|#@]/g, '\\$&')
}

function input(name) {
  return (env[`INPUT_${name.toUpperCase()}`] ?? '').trim()
}

function requireInput(name) {
  const value = input(name)
  if (value === '') throw new Error(`The input ${name} is required`)
  return value
}

function append(variable, lines) {
  if (env[variable]) appendFileSync(env[variable], `${lines}\n`)
}

/** A command of the runner, whose value is one line. */
function command(name, text) {
  const line = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  process.stdout.write(`::${name}::${line}\n`)
}

function mask(secret) {
  command('add-mask', secret)
}

run().catch((error) => {
  command('error', error.message)
  process.exitCode = 1
})
