import { type HeadTags, injectHeadTags } from '../../server/sites/page-metadata/head-injection.ts'

/** A document with these tags in its head; undefined where injection is impossible. */
export function inject(document: Buffer, tags: HeadTags, type: string): Buffer | undefined {
  const injected = injectHeadTags(document, tags, type)
  return injected && Buffer.concat([injected.head, document.subarray(injected.tailStart)])
}

/** Marks the place of injected tags. */
export const HERE = '◆'

/**
 * Documents with the expected result of injecting a title, a description and an image: their text with `◆` in place of
 * injected tags, without the replaced ones, and otherwise unchanged.
 */
// biome-ignore format: one row per case
export const documents: [what: string, document: string, front: string][] = [
  // Where a head begins
  ['nothing at all', '', '◆'],
  ['a text', 'hello', '◆hello'],
  ['white space', ' \n\t', '◆ \n\t'],
  ['a paragraph', '<p>Hi', '◆<p>Hi'],
  ['a doctype', '<!doctype html>', '<!doctype html>◆'],
  ['a doctype and a paragraph', '<!DOCTYPE html>\n<p>Hi', '<!DOCTYPE html>◆\n<p>Hi'],
  ['a comment before the doctype', '<!-- c --><!doctype html><p>', '<!-- c --><!doctype html>◆<p>'],
  ['a prolog of XML', '<?xml version="1.0"?><!doctype html><p>', '<?xml version="1.0"?><!doctype html>◆<p>'],
  ['an old doctype', '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd"><HTML><HEAD></HEAD>', '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd"><HTML><HEAD>◆</HEAD>'],
  ['a doctype that comes too late', '<p>x<!doctype html>', '◆<p>x<!doctype html>'],
  ['an html tag without a head', '<!doctype html><html lang=en><body>x', '<!doctype html><html lang=en>◆<body>x'],
  ['an html tag with a sign in its attribute', '<html data-x="a>b"><body>', '<html data-x="a>b">◆<body>'],
  ['a head with attributes', '<html><head prefix="og: https://ogp.me/ns#"></head>', '<html><head prefix="og: https://ogp.me/ns#">◆</head>'],
  ['a comment before the head', '<html><!-- <head> --><head></head>', '<html><!-- <head> --><head>◆</head>'],
  ['a head that is never closed', '<head><link rel=icon href=x><p>', '<head>◆<link rel=icon href=x><p>'],
  ['two heads', '<head></head><head></head><p>', '<head>◆</head><head></head><p>'],
  ['a head without its tag', '<!doctype html><link rel=icon href=x><p>', '<!doctype html>◆<link rel=icon href=x><p>'],
  ['a head tag that comes too late', '<meta name=a><head><p>', '◆<meta name=a><head><p>'],
  ['an html tag that comes too late', '<!doctype html><meta name=a><html lang=en>', '<!doctype html>◆<meta name=a><html lang=en>'],
  ['only a body', '<body class=x>Hi</body>', '◆<body class=x>Hi</body>'],
  ['frames', '<html><head></head><frameset><frame src=a></frameset>', '<html><head>◆</head><frameset><frame src=a></frameset>'],
  ['a thing in the head that ends it', '<head><div>x</div><link href=y></head>', '<head>◆<div>x</div><link href=y></head>'],

  // The title
  ['a title', '<head><title>Old</title></head>', '<head>◆</head>'],
  ['a title without a head', '<!doctype html><title>Old</title><p>', '<!doctype html>◆<p>'],
  ['two titles', '<head><title>One</title><link href=x><title>Two</title></head>', '<head>◆<link href=x></head>'],
  ['a title in capitals, with attributes', '<HEAD><TITLE lang=de>Alt</TITLE></HEAD>', '<HEAD>◆</HEAD>'],
  ['a title with markup in it', '<head><title><b>Old</b> &amp; <!-- x --></title></head>', '<head>◆</head>'],
  ['a title of several lines', '<head>\n<title>\n  Old\n</title>\n</head>', '<head>◆\n\n</head>'],
  ['an empty title', '<head><title></title></head>', '<head>◆</head>'],
  ['a title whose end tag has a space', '<head><title>Old</title ></head>', '<head>◆</head>'],
  ['a title that is never closed, with all that is in it', '<head><title>Old<p>Hi', '<head>◆<title>Old<p>Hi'],
  ['a title after the head', '<head></head><title>Old</title><body>', '<head>◆</head><body>'],
  ['a title in a picture', '<head></head><body><svg><title>Dot</title></svg>', '<head>◆</head><body><svg><title>Dot</title></svg>'],
  ['a title in a picture in the head', '<head><svg><title>Dot</title></svg></head>', '<head>◆<svg><title>Dot</title></svg></head>'],
  ['a title in a template', '<head><template><title>T</title></template></head>', '<head>◆<template><title>T</title></template></head>'],
  ['a title in a comment', '<head><!-- <title>Old</title> --></head>', '<head>◆<!-- <title>Old</title> --></head>'],
  ['a title in a script', '<head><script>"<title>Old</title>"</script></head>', '<head>◆<script>"<title>Old</title>"</script></head>'],
  ['a title in a style', '<head><style>/*<title>Old</title>*/</style></head>', '<head>◆<style>/*<title>Old</title>*/</style></head>'],
  ['a title in noscript', '<head><noscript><title>Old</title></noscript></head>', '<head>◆<noscript><title>Old</title></noscript></head>'],
  ['a title in the body', '<head></head><body><title>Old</title>', '<head>◆</head><body><title>Old</title>'],
  ['a title in an attribute', '<head><link title="<title>Old</title>"></head>', '<head>◆<link title="<title>Old</title>"></head>'],
  ['a title in a comment that a bang ends', '<head><!-- <title>A</title> --!><title>B</title></head>', '<head>◆<!-- <title>A</title> --!></head>'],
  ['a title behind a script with a comment in it', '<head><script><!-- <script> </script> --></script><title>Old</title></head>', '<head>◆<script><!-- <script> </script> --></script></head>'],

  // Metadata in <meta>
  ['a description', '<head><meta name="description" content="Old"></head>', '<head>◆</head>'],
  ['a description in capitals, closed as in XML', '<head><META NAME="Description" CONTENT=\'Old\' /></head>', '<head>◆</head>'],
  ['a description without quotes', '<head><meta content=Old name=description></head>', '<head>◆</head>'],
  ['two descriptions', '<head><meta name=description content=a><meta name=description content=b></head>', '<head>◆</head>'],
  ['a description with a sign in it', '<head><meta name=description content="a > b"></head>', '<head>◆</head>'],
  ['all of Open Graph', '<head><meta property="og:title" content=a><meta property="og:description" content=b><meta property="og:image" content=c></head>', '<head>◆</head>'],
  ['Open Graph in name', '<head><meta name="og:title" content=a><meta name="OG:Image" content=c></head>', '<head>◆</head>'],
  [
    'other Open Graph properties',
    '<head><meta property="og:type" content=website><meta property="og:url" content=u><meta property="og:site_name" content=s></head>',
    '<head>◆<meta property="og:type" content=website><meta property="og:url" content=u><meta property="og:site_name" content=s></head>',
  ],
  ['the size of the picture that was there', '<head><meta property="og:image" content=c><meta property="og:image:width" content=1><meta property="og:image:alt" content=a></head>', '<head>◆</head>'],
  ['what another preview would show instead', '<head><meta name="twitter:title" content=a><meta name="twitter:image:src" content=b><meta name="twitter:site" content="@me"></head>', '<head>◆<meta name="twitter:site" content="@me"></head>'],
  ['one tag for two previews', '<head><meta property="og:title" name="twitter:title" content=a></head>', '<head>◆</head>'],
  ['several properties in one', '<head><meta property="dc:title og:title" content=a></head>', '<head>◆</head>'],
  ['a name that only begins alike', '<head><meta name="description2" content=a><meta property="og:titles"></head>', '<head>◆<meta name="description2" content=a><meta property="og:titles"></head>'],
  ['a description in the body', '<head></head><body><meta name=description content=Old>', '<head>◆</head><body><meta name=description content=Old>'],
  ['a description in a template', '<head><template><meta name=description></template></head>', '<head>◆<template><meta name=description></template></head>'],
  ['a viewport', '<head><meta name=viewport content="width=device-width"></head>', '<head>◆<meta name=viewport content="width=device-width"></head>'],
  ['microdata', '<head><meta itemprop=description content=x></head>', '<head>◆<meta itemprop=description content=x></head>'],

  // The encoding declared at the start
  ['a declared encoding', '<head><meta charset="utf-8"><title>Old</title></head>', '<head><meta charset="utf-8">◆</head>'],
  ['an encoding declared late', '<head><title>Old</title><link href=x><meta charset=utf-8></head>', '<head><link href=x><meta charset=utf-8>◆</head>'],
  ['an encoding declared in the old way', '<head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"></head>', '<head><meta http-equiv="Content-Type" content="text/html; charset=utf-8">◆</head>'],
  ['an unknown encoding', '<head><meta charset=klingon><link href=x></head>', '<head>◆<meta charset=klingon><link href=x></head>'],
  ['two encodings, of which the first counts', '<head><meta charset=utf-8><meta charset=latin1></head>', '<head><meta charset=utf-8>◆<meta charset=latin1></head>'],
  ['line ends of another system', '<head>\r\n<meta charset=utf-8>\r\n<title>Old</title>\r\n</head>', '<head>\r\n<meta charset=utf-8>◆\r\n\r\n</head>'],
  ['an encoding after the head', '<head></head><meta charset=utf-8><body>', '<head></head><meta charset=utf-8>◆<body>'],
  ['an encoding declared beyond the first 1,024 bytes', `<body>${'x'.repeat(2000)}<meta charset=utf-8>`, `◆<body>${'x'.repeat(2000)}<meta charset=utf-8>`],

  // Unusual bytes
  ['a null character', '<head>\0<title>Old</title></head>', '<head>◆\0<title>Old</title></head>'],
  ['a null character in a title', '<head><title>O\0ld</title></head>', '<head>◆</head>'],
  ['signs that begin nothing', '<head></head><body>a < b <3 </ > &amp &', '<head>◆</head><body>a < b <3 </ > &amp &'],
  ['a tag that is cut off', '<head><title>Old</title></head><body><p class="', '<head>◆</head><body><p class="'],
  ['a script that is cut off', '<head><title>Old</title><script>let a = "', '<head>◆<script>let a = "'],
]
