package redisapi

import "strings"

// IsRedisCommand says whether Redis, or a that comes with Redis, has a command
// of this name, in lower case, that Howdah lacks: a client may expect it, and it is not
// a word of the client's own.
func IsRedisCommand(name string) bool { return lacking[name] }

// lacking are the commands of Redis up to version 8 that Howdah lacks. A command that
// it has by now does no harm here.
var lacking = setOf(`
	failover geoadd geodist geohash geopos georadius georadius_ro georadiusbymember
	georadiusbymember_ro geosearch geosearchstore latency memory migrate module monitor pfdebug
	pfselftest psync replconf restore-asking role shutdown slowlog sync waitaof
	xack xackdel xadd xautoclaim xclaim xdel xdelex xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim
	hgetdel hgetex hsetex client|no-touch client|setinfo cluster|slot-stats
	vadd vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vrange vrem vsetattr vsim
	json.arrappend json.arrindex json.arrinsert json.arrlen json.arrpop json.arrtrim json.clear json.debug json.del
	json.forget json.get json.merge json.mget json.mset json.numincrby json.nummultby json.objkeys json.objlen
	json.resp json.set json.strappend json.strlen json.toggle json.type
	ft._list ft.aggregate ft.aliasadd ft.aliasdel ft.aliasupdate ft.alter ft.config ft.create ft.cursor ft.dictadd
	ft.dictdel ft.dictdump ft.dropindex ft.explain ft.explaincli ft.hybrid ft.info ft.profile ft.search ft.spellcheck
	ft.sugadd ft.sugdel ft.sugget ft.suglen ft.syndump ft.synupdate ft.tagvals
	bf.add bf.card bf.exists bf.info bf.insert bf.loadchunk bf.madd bf.mexists bf.reserve bf.scandump
	cf.add cf.addnx cf.count cf.del cf.exists cf.info cf.insert cf.insertnx cf.loadchunk cf.mexists cf.reserve cf.scandump
	cms.incrby cms.info cms.initbydim cms.initbyprob cms.merge cms.query
	topk.add topk.count topk.incrby topk.info topk.list topk.query topk.reserve
	tdigest.add tdigest.byrank tdigest.byrevrank tdigest.cdf tdigest.create tdigest.info tdigest.max tdigest.merge
	tdigest.min tdigest.quantile tdigest.rank tdigest.reset tdigest.revrank tdigest.trimmed_mean
	ts.add ts.alter ts.create ts.createrule ts.decrby ts.del ts.deleterule ts.get ts.incrby ts.info ts.madd ts.mget
	ts.mrange ts.mrevrange ts.queryindex ts.range ts.revrange
`)

func setOf(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
