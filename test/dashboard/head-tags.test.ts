import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { extractHeadTags } from '../../dashboard/site/head-tags.ts'

const SIZE = 256 * 1024

describe('the tags that are read from the head of a document', () => {
  for (const { of, html, tags } of [
    { of: 'nothing', html: '', tags: '' },
    { of: 'plain text', html: 'Bread & more', tags: '' },
    { of: 'a title', html: '<title>Bread &amp; more</title>', tags: '<title>Bread &amp; more</title>' },
    { of: 'tags in capitals', html: '<TITLE>Bread</TiTle>', tags: '<title>Bread</title>' },
    { of: 'a title with attributes', html: '<title lang="en">Bread</title>', tags: '<title>Bread</title>' },
    { of: 'a meta', html: '<meta name="a" content="b">', tags: '<meta name="a" content="b">' },
    { of: 'a meta that closes itself', html: '<meta name=a content=b />', tags: '<meta name=a content=b>' },
    { of: 'a meta with more', html: '<meta id=1 style="a:b" content=c>', tags: '<meta content=c>' },
    { of: 'a value with a tag', html: `<meta content='<title>"'>`, tags: `<meta content='<title>"'>` },
    { of: 'a value like an attribute', html: '<meta id="content=x">', tags: '<meta >' },
    { of: 'a comment', html: '<!-- <title>no</title> --><title>yes</title>', tags: '<title>yes</title>' },
    { of: 'a script', html: '<script>"<meta content=x>"</script><title>a</title>', tags: '<title>a</title>' },
    { of: 'a style', html: '<style><title>no</title></style>', tags: '' },
    { of: 'what is for browsers without scripts', html: '<noscript><meta content=x></noscript>', tags: '' },
    { of: 'what follows the head', html: '</head><title>no</title>', tags: '' },
    { of: 'a body', html: '<title>a</title><body><meta content=x>', tags: '<title>a</title>' },
    { of: 'a title that never ends', html: '<title>a', tags: '' },
    { of: 'a script that never ends', html: '<title>a</title><script><title>b', tags: '<title>a</title>' },
    { of: 'a meta that never ends', html: '<meta content="a', tags: '' },
  ]) {
    test(`of ${of}`, () => assert.equal(extractHeadTags(html), tags))
  }

  for (const piece of [
    '<meta ',
    '<meta "',
    "<meta a='",
    '<title',
    '<title>',
    '<script>',
    '<!--',
    '<',
    '<meta>',
  ]) {
    test(`are read in linear time from a document of nothing but ${piece}`, () => {
      const tags = extractHeadTags(piece.repeat(SIZE / piece.length))
      assert.doesNotMatch(tags, /script|style/)
    })
  }
})
