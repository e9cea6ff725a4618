package pgstub

import (
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// statement is one that the stub knows.
type statement struct {
	params []uint32 // types
	fields []field
	tag    string
	// row is its one row's values, in the formats that pgx asks for; nil values are NULL. nil: it returns no row.
	row func(*session) [][]byte
	// status is the transaction's from here on, as ReadyForQuery has it; 0: as it was.
	status byte
}

type field struct {
	name string
	oid  uint32
}

// format is the one that pgx asks for: text as text, all else binary.
func (f field) format() int16 {
	if f.oid == pgtype.TextOID {
		return pgtype.TextFormatCode
	}
	return pgtype.BinaryFormatCode
}

// statements has the key protocol's by sqlc's name and transaction control by its first word. What they take and return is
// compared with a server's word in a test.
var statements = map[string]*statement{
	"BEGIN":    {tag: "BEGIN", status: 'T'},
	"COMMIT":   {tag: "COMMIT", status: 'I'},
	"ROLLBACK": {tag: "ROLLBACK", status: 'I'},

	"SettingsClaim": {
		params: texts(3),
		fields: settings(10),
		tag:    "SELECT 1",
		row:    func(s *session) [][]byte { return s.values(tenSettings...) },
	},
	"SettingsRestore": {
		fields: settings(4),
		tag:    "SELECT 1",
		row:    func(s *session) [][]byte { return s.values(tenSettings[:4]...) },
	},
	"SettingsWrite": {
		params: texts(2),
		fields: settings(4),
		tag:    "SELECT 1",
		row:    func(s *session) [][]byte { return s.values(tenSettings[:4]...) },
	},
	"KeyClaim": {
		params: []uint32{
			pgtype.IntervalOID, pgtype.IntervalOID, pgtype.UUIDOID, pgtype.BoolOID, pgtype.TextOID, pgtype.TextOID, pgtype.TextOID,
			pgtype.ByteaOID, pgtype.TextOID, pgtype.ByteaOID,
		},
		fields: []field{{"fence", pgtype.Int8OID}, {"attempts", pgtype.Int4OID}, {"fingerprint", pgtype.ByteaOID}},
		tag:    "INSERT 0 1",
		row:    (*session).claimed,
	},
	"KeyLoad": {
		params: texts(3),
		fields: []field{
			{"status", pgtype.TextOID}, {"leased", pgtype.BoolOID}, {"fence", pgtype.Int8OID}, {"claim_id", pgtype.UUIDOID},
			{"attempts", pgtype.Int4OID}, {"fingerprint", pgtype.ByteaOID}, {"response_status", pgtype.Int4OID},
			{"response_header", pgtype.ByteaOID}, {"response_body", pgtype.ByteaOID}, {"provider_ref", pgtype.TextOID},
			{"completed_at", pgtype.TimestamptzOID}, {"age", pgtype.IntervalOID}, {"remaining", pgtype.IntervalOID},
			{"expires_in", pgtype.IntervalOID},
		},
		tag: "SELECT 1",
		row: (*session).loaded,
	},
	"KeyComplete":   completion("UPDATE 1"),
	"KeyCompleteTx": completion("SELECT 1"),
}

func completion(tag string) *statement {
	return &statement{
		params: []uint32{
			pgtype.IntervalOID, pgtype.UUIDOID, pgtype.Int4OID, pgtype.TextOID, pgtype.ByteaOID, pgtype.ByteaOID, pgtype.TextOID,
			pgtype.TextOID, pgtype.TextOID, pgtype.TextOID, pgtype.Int8OID,
		},
		fields: []field{{"completed_at", pgtype.TimestamptzOID}},
		tag:    tag,
		row:    func(s *session) [][]byte { return s.values(completedAt) },
	}
}

func texts(n int) []uint32 {
	oids := make([]uint32, n)
	for i := range oids {
		oids[i] = pgtype.TextOID
	}
	return oids
}

func settings(n int) []field {
	fields := make([]field, n)
	for i := range fields {
		fields[i] = field{"set_config", pgtype.TextOID}
	}
	return fields
}

// find returns nil for a statement that the stub does not know.
func find(sql string) *statement {
	if named, ok := strings.CutPrefix(sql, "-- name: "); ok {
		name, _, _ := strings.Cut(named, " ")
		return statements[name]
	}
	word, _, _ := strings.Cut(sql, " ")
	return statements[strings.ToUpper(word)]
}

// describe appends what the statement takes and returns.
func (s *statement) describe(to []byte) []byte {
	to, _ = (&pgproto3.ParameterDescription{ParameterOIDs: s.params}).Encode(to)
	return s.describeRows(to, func(field) int16 { return 0 })
}

func (s *statement) describeRows(to []byte, format func(field) int16) []byte {
	if len(s.fields) == 0 {
		to, _ = (&pgproto3.NoData{}).Encode(to)
		return to
	}
	rows := &pgproto3.RowDescription{}
	for _, f := range s.fields {
		rows.Fields = append(rows.Fields, pgproto3.FieldDescription{
			Name: []byte(f.name), DataTypeOID: f.oid, DataTypeSize: -1, TypeModifier: -1, Format: format(f),
		})
	}
	to, _ = rows.Encode(to)
	return to
}
