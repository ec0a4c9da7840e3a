import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guideContent } from '../../scripts/reference/guides.ts'
import { referenceContent } from '../../scripts/reference/reference.ts'
import { visited } from './file-drop.ts'
import { web } from './shared.ts'

test('the API reference lists every route and every error code, and its contents link to anchors', async () => {
  const html = await visited(web.url('/docs'))
  const text = html.replace(/<[^>]+>/g, '')
  const document = JSON.parse(await visited(web.url('/api/openapi.json')))
  const calls = Object.entries(document.paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.ok(calls.length > 20)
  for (const call of [...calls, 'VALIDATION_ERROR', 'RATE_LIMITED', 'INSUFFICIENT_STORAGE'])
    assert.ok(text.includes(call), call)
  const anchors = [...html.matchAll(/<a href="#([^"]+)"/g)].map(([, anchor]) => anchor)
  assert.ok(anchors.length > 20)
  assert.deepEqual(
    anchors.filter((anchor) => !html.includes(` id="${anchor}"`)),
    [],
  )
})

test('the API reference describes a schema in words', () => {
  const page = referenceContent({
    paths: {
      '/things/{id}': {
        put: {
          tags: ['Things'],
          summary: 'Keep a thing <here>',
          parameters: [
            {
              in: 'path',
              name: 'id',
              required: true,
              description: 'Which one',
              schema: { type: 'string' },
            },
            { in: 'query', name: 'page', schema: { type: 'integer', minimum: 1, maximum: 9 } },
          ],
          requestBody: { content: { 'application/json': { schema: THING } } },
          responses: { 200: { content: { 'application/json': { schema: THING } } }, '4XX': {} },
        },
      },
    },
  })
  const text = page.replace(/<[^>]+>/g, '')
  for (const words of [
    'Keep a thing &#60;here&#62;',
    'id string required',
    'page integer1 to 9',
    'kind &#34;boat&#34; or &#34;ship&#34; required',
    'name string or null',
    'Its name; at most 20 characters; matches ^[a-z]+$',
    'masts list of objects',
    'masts[].height number requiredat least 1',
    'size stringone of &#34;s&#34;, &#34;l&#34;',
    '{&#34;kind&#34;:&#34;boat&#34;}',
  ]) {
    assert.ok(text.includes(words), `${words} is not in ${text}`)
  }
})

const THING = {
  type: 'object',
  required: ['kind'],
  properties: {
    kind: {
      anyOf: [
        { const: 'boat', type: 'string' },
        { const: 'ship', type: 'string' },
      ],
    },
    name: {
      anyOf: [{ type: 'string' }, { type: 'null' }],
      description: 'Its name',
      maxLength: 20,
      pattern: '^[a-z]+$',
    },
    masts: {
      type: 'array',
      items: { type: 'object', required: ['height'], properties: { height: { type: 'number', minimum: 1 } } },
    },
    size: { type: 'string', enum: ['s', 'l'] },
  },
}

test('a guide escapes HTML, has anchors, and links to other guides and no other file', () => {
  const source =
    '# Guide\n\n## A `part`, two\n\n<script>x</script>\n\n[a](domains.md#b) [c](../README.md) <b>d</b>'
  const page = guideContent({ name: 'publish', source }, ['publish', 'domains'])
  assert.match(page, /<h2 id="a-part-two">/)
  assert.match(page, /<li><a href="#a-part-two">A part, two<\/a>/)
  assert.match(page, /&#60;script&#62;x/)
  assert.match(page, /<a href="\/docs\/domains#b">a<\/a> c &#60;b&#62;d/)
})
