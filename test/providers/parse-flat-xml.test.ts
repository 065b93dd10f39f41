import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseFlatXml } from '../../src/providers/wechatpay-v2/parse-flat-xml.ts'
import { flatXml } from '../../src/providers/wechatpay-v2/sign.ts'

const parse = (text: string | Buffer, root: 'xml' | 'root' = 'xml') => {
  const fields = parseFlatXml(Buffer.from(text), root)
  return typeof fields === 'string' ? fields : Object.fromEntries(fields)
}

describe('a flat document', () => {
  test.for([
    ['plain and in CDATA', '<xml><a>1</a><b><![CDATA[二]]></b></xml>', { a: '1', b: '二' }],
    ['over several lines', '\n<xml>\r\n  <a>1</a>\t<b>2</b>\n</xml> \n', { a: '1', b: '2' }],
    ['without fields', '<xml></xml>', {}],
    ['empty values', '<xml><a></a><b/><c><![CDATA[]]></c></xml>', { a: '', b: '', c: '' }],
    ['values as they lie there', '<xml><a> 007 </a><b><![CDATA[ \r\n]]></b></xml>', { a: ' 007 ', b: ' \r\n' }],
    ['what CDATA holds', '<xml><a><![CDATA[&amp;<b>x</b>]>"]]</a>]]></a></xml>', { a: '&amp;<b>x</b>]>"]]</a>' }],
    ['names', '<xml><_a>1</_a><A_9>2</A_9><a>3</a></xml>', { _a: '1', A_9: '2', a: '3' }],
  ] as const)('%s', ([, text, fields]) => expect(parse(text)).toEqual(fields))

  test('has the root that is asked for', () => {
    expect(parse('<root><a>1</a></root>', 'root')).toEqual({ a: '1' })
    expect(parse('<root><a>1</a></root>')).toBe('no <xml> at the beginning')
    expect(parse('<xml><a>1</a></xml>', 'root')).toBe('no <root> at the beginning')
    for (const root of ['<XML>', '<xml >', '<xml a="b">', '<x:xml>', '<xmll>'])
      expect(parse(`${root}<a>1</a></xml>`)).toBeTypeOf('string')
  })

  test('no field is a part of an object that everybody shares', () => {
    const fields = parseFlatXml(Buffer.from('<xml><__proto__>1</__proto__><constructor>2</constructor></xml>'), 'xml')
    expect(fields).toEqual(
      new Map([
        ['__proto__', '1'],
        ['constructor', '2'],
      ]),
    )
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('is refused, and the log says why:', () => {
  const xml = '<xml><a>1</a></xml>'
  test.for([
    ['a document type', `<!DOCTYPE x>${xml}`],
    ['a document type', `<!doctype x [<!ENTITY a "1">]><xml><a>&a;</a></xml>`],
    ['a document type', `\n <!DOCTYPE x SYSTEM "http://127.0.0.1:9/xxe">${xml}`],
    ['a document type', `<xml><!DOCTYPE x><a>1</a></xml>`],
    ['a document type', `<xml><a>1</a></xml><!DOCTYPE x>`],
    ['a comment', `<!-- c --><!DOCTYPE x>${xml}`],
    ['a comment', `<xml><!-- c --><a>1</a></xml>`],
    ['a comment', `${xml}<!-- c -->`],
    ['a prolog or instruction', `<?xml version="1.0" encoding="UTF-8"?>${xml}`],
    ['a prolog or instruction', `<xml><?php 1 ?><a>1</a></xml>`],
    ['no <xml> at the beginning', `\ufeff${xml}`],
    ['no <xml> at the beginning', `\ufeff<!DOCTYPE x>${xml}`],
    ['no <xml> at the beginning', '{"a":1}'],
    ['no <xml> at the beginning', ''],
    ['no <xml> at the beginning', '\u3000<xml></xml>'],
    ['an entity, or a bracket outside CDATA', '<xml><a>&amp;</a></xml>'],
    ['an entity, or a bracket outside CDATA', '<xml><a>&#49;</a></xml>'],
    ['an entity, or a bracket outside CDATA', '<xml><a>&x;</a></xml>'],
    ['an entity, or a bracket outside CDATA', '<xml><a>1]]></a></xml>'],
    ['nesting, or a tag that closes another', '<xml><a><b>1</b></a></xml>'],
    ['nesting, or a tag that closes another', '<xml><a>1</b></xml>'],
    ['nesting, or a tag that closes another', '<xml><a>1</A></xml>'],
    ['nesting, or a tag that closes another', '<xml><a>1</a ></xml>'],
    ['nesting, or a tag that closes another', '<xml><a><![CDATA[1]]>2</a></xml>'],
    ['nesting, or a tag that closes another', '<xml><a><![CDATA[1]]> </a></xml>'],
    ['CDATA beside a value', '<xml><a>1<![CDATA[2]]></a></xml>'],
    ['CDATA beside a value', '<xml><a> <![CDATA[2]]></a></xml>'],
    // Two readers could take it for one value or for two.
    ['CDATA beside a value', '<xml><a><![CDATA[1]]><![CDATA[2]]></a></xml>'],
    ['nesting, or a tag that closes another', '<xml><a><![CDATA[1]]></c><b><![CDATA[2]]></a></xml>'],
    ['CDATA beside a value', '<xml><![CDATA[1]]></xml>'],
    ['an attribute, or a name longer than 64', '<xml><a b="c">1</a></xml>'],
    ['an attribute, or a name longer than 64', '<xml><a >1</a></xml>'],
    ['an attribute, or a name longer than 64', '<xml><a />1</a></xml>'],
    ['an attribute, or a name longer than 64', '<xml><a:b>1</a:b></xml>'],
    ['an attribute, or a name longer than 64', '<xml><订>1</订></xml>'.replace('订', 'a订')],
    ['an attribute, or a name longer than 64', `<xml><${'n'.repeat(65)}>1</${'n'.repeat(65)}></xml>`],
    ['no field where one must begin', '<xml><订>1</订></xml>'],
    ['no field where one must begin', '<xml><>1</></xml>'],
    ['no field where one must begin', '<xml>text<a>1</a></xml>'],
    ['no field where one must begin', '<xml><9>1</9></xml>'],
    ['no field where one must begin', '<xml>'],
    ['no field where one must begin', '<xml><a>1</a>'],
    ['no field where one must begin', '<xml><a>1</a></xm>'],
    ['cut off', '<xml><a>1'],
    ['cut off', '<xml><a><![CDATA[1]]</a></xml>'],
    ['nesting, or a tag that closes another', '<xml><a><![CDATA[1]]></a'],
    ['a field that comes twice', '<xml><a>1</a><b>2</b><a>1</a></xml>'],
    ['a field that comes twice', '<xml><a/><a>1</a></xml>'],
    ['something after the end', `${xml}${xml}`],
    ['something after the end', `${xml}\0`],
    ['something after the end', `${xml}x`],
    ['more than 400 fields', `<xml>${Array.from({ length: 401 }, (_, n) => `<f${n}/>`).join('')}</xml>`],
    ['more than 65536 bytes', `<xml><a>${'1'.repeat(65_536)}</a></xml>`],
  ] as const)('%s: %s', ([why, text]) => expect(parse(text)).toBe(why))

  test('every encoding but UTF-8, with a document type in it or not', () => {
    const doctype = '<!DOCTYPE x [<!ENTITY a "1">]><xml><a>&a;</a></xml>'
    for (const text of [xml, doctype])
      for (const bytes of [
        Buffer.from(text, 'utf16le'),
        Buffer.from(`\ufeff${text}`, 'utf16le'),
        Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
      ])
        expect(parse(bytes)).toBeTypeOf('string')
    expect(parse(Buffer.concat([Buffer.from('<xml><a>'), Buffer.from([0xbb, 0xe1]), Buffer.from('</a></xml>')]))).toBe(
      'not UTF-8',
    )
  })

  test('400 fields, 64 characters of a name and 64 KiB are let in', () => {
    expect(parse(`<xml>${Array.from({ length: 400 }, (_, n) => `<f${n}/>`).join('')}</xml>`)).toBeTypeOf('object')
    const name = 'n'.repeat(64)
    expect(parse(`<xml><${name}>1</${name}></xml>`)).toEqual({ [name]: '1' })
    expect(parse(`<xml><a>${'1'.repeat(65_536 - 18)}</a></xml>`)).toBeTypeOf('object')
  })
})

test('what is written is what is read', () => {
  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/)
  const value = fc.string({ unit: 'binary' }).filter((text) => !text.includes(']]>') && text.isWellFormed())
  fc.assert(
    fc.property(fc.dictionary(name, value, { noNullPrototype: true }), (fields) => {
      expect(parse(flatXml('root', fields), 'root')).toEqual(fields)
    }),
  )
})

test('the time that a hostile document takes grows with its length and no faster', () => {
  const hostile = ['<xml>'.padEnd(65_000, '<a>'), `<xml><a>${']'.repeat(65_000)}`, '<xml><a><![CDATA['.repeat(3_800)]
  const startedMs = performance.now()
  for (const text of hostile) expect(parse(text)).toBeTypeOf('string')
  expect(performance.now() - startedMs).toBeLessThan(1_000)
})
