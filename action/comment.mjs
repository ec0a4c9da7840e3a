/** Comments are read up to this page, of 100 each. */
const MAX_PAGES = 10

/** Maximum duration of a request for comments. */
const REQUEST_TIMEOUT_MS = 10_000

/**
 * Writes the comment about a site on a pull request, in place of an earlier one. Of two jobs that create one at the same
 * time, the later one deletes its own.
 */
export async function updateComment({ api, repository, token, number, site, text }) {
  const comments = `${api}/repos/${repository}/issues`
  const marker = `<!-- slipway ${site} -->`
  const body = `${marker}\n${text}`
  // The token of a job has no user. Comments of others do not count: their authors could change the address.
  const own = await request(token, 'GET', `${api}/user`).catch(() => undefined)
  const isOwn = (user) => (own ? user?.id === own.id : user?.type === 'Bot')
  const find = async () => {
    for (let page = 1; page <= MAX_PAGES; page++) {
      const found = await request(token, 'GET', `${comments}/${number}/comments?per_page=100&page=${page}`)
      const earlier = found.find(({ body: text, user }) => isOwn(user) && text?.startsWith(marker))
      if (earlier || found.length < 100) return earlier
    }
  }
  const update = ({ id }) => request(token, 'PATCH', `${comments}/comments/${id}`, { body })
  const earlier = await find()
  if (earlier) return update(earlier)
  const created = await request(token, 'POST', `${comments}/${number}/comments`, { body })
  const first = await find()
  if (!first || first.id >= created.id) return
  await request(token, 'DELETE', `${comments}/comments/${created.id}`)
  await update(first)
}

async function request(token, method, url, json) {
  const response = await fetch(url, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      ...(json && { 'content-type': 'application/json' }),
    },
    ...(json && { body: JSON.stringify(json) }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  })
  if (!response.ok) throw new Error(`${method} ${new URL(url).pathname} returned ${response.status}`)
  return response.status === 204 ? undefined : response.json()
}
