// @ts-nocheck: its packages are only in the cache of the clients
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'

/** A provider of tokens as the clients of the protocol take it, which opens the browser of the user. */
export async function openAuthProvider() {
  const returned = Promise.withResolvers()
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url, 'http://localhost')
    response.end('Return to the program.')
    if (searchParams.has('code')) returned.resolve(searchParams.get('code'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const redirectUrl = `http://127.0.0.1:${server.address().port}/callback`
  const saved = {}
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Script',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => saved.client,
    saveClientInformation: (client) => {
      saved.client = client
    },
    tokens: () => saved.tokens,
    saveTokens: (tokens) => {
      saved.tokens = tokens
    },
    saveCodeVerifier: (verifier) => {
      saved.verifier = verifier
    },
    codeVerifier: () => saved.verifier,
    redirectToAuthorization: (url) => {
      execFile('xdg-open', [url.href])
    },
  }
  return { provider, code: returned.promise, close: () => server.close() }
}
